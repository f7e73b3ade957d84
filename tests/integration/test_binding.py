"""--bind: the CPU affinity of each worker."""

import os

import pytest

ALLOWED = "print(rank, sorted(os.sched_getaffinity(0)))\n"


@pytest.fixture
def bound(dlaunch, python_worker):
    """bound(*options) -> the CPU affinity of every worker, by rank."""

    def bound_(*options, **more):
        result = dlaunch(*options, "--no-python", python_worker(ALLOWED), **more)
        assert result.rc == 0, result.err
        return [
            set(eval(line.split(" ", 1)[1]))
            for line in sorted(result.out.splitlines(), key=lambda line: int(line.split()[0]))
        ]

    return bound_


def test_workers_are_not_bound_by_default(bound):
    assert bound("--nproc-per-node=3") == [os.sched_getaffinity(0)] * 3


@pytest.mark.parametrize("how", ["cores", "numa", "socket"])
def test_every_worker_is_within_dlaunchs_affinity(bound, how):
    for processors in bound("--nproc-per-node=3", f"--bind={how}"):
        assert processors and processors <= os.sched_getaffinity(0)


def test_two_workers_share_no_core(bound):
    cores = {
        open(f"/sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list").read() for n in os.sched_getaffinity(0)
    }
    if len(cores) < 2:
        pytest.skip("one core only")
    first, second = bound("--nproc-per-node=2", "--bind=cores")
    assert not first & second


@pytest.mark.needs("taskset")
def test_it_keeps_to_our_own_mask(bound):
    one = min(os.sched_getaffinity(0))
    assert bound("--nproc-per-node=2", "--bind=cores", prefix=("taskset", "-c", str(one))) == [{one}] * 2


@pytest.mark.needs("taskset")
@pytest.mark.parametrize("workers, line", [(1, ""), (2, "dlaunch: --bind=cores: 2 workers share 1 processor\n")])
def test_too_few_processors_are_reported(dlaunch, workers, line):
    one = min(os.sched_getaffinity(0))
    result = dlaunch("--bind=cores", f"--nproc-per-node={workers}", "--no-python", "true", prefix=("taskset", "-c", str(one)))
    assert (result.rc, result.err) == (0, line)


@pytest.mark.parametrize("name", ["node", "socket", "exclusive", "core-complex"])
def test_torchruns_names(bound, name):
    assert all(bound("--nproc-per-node=2", f"--numa-binding={name}"))


def test_an_unknown_name(dlaunch):
    result = dlaunch("--bind=planets", "--no-python", "true")
    assert result.rc == 2 and "--bind=planets" in result.first_line and "cores" in result.first_line
