"""Descriptors 0, 1 or 2 are closed at the start: the job runs, and no internal descriptor takes their numbers."""
import itertools

import pytest

ALL_CLOSED = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
CLOSED = [c for n in (1, 2, 3) for c in itertools.combinations((0, 1, 2), n)]


@pytest.mark.parametrize("closed", CLOSED, ids=str)
def test_the_job_runs(dlaunch, shell_worker, seen, closed):
    words = " ".join(f"{n}{'<' if n == 0 else '>'}&-" for n in closed)
    worker = shell_worker("echo to out\necho to err >&2\ncat > /dev/null\nnote over.$RANK\n")
    result = dlaunch("--nproc-per-node=2", "--no-python", worker, prefix=("sh", "-c", f'exec "$@" {words}', "sh"))
    assert result.rc == 0 and len(list(seen.glob("over.*"))) == 2
    assert result.out == ("" if 1 in closed else "to out\n" * 2)
    assert result.err == ("" if 2 in closed else "to err\n" * 2)


def test_a_failure_is_still_a_failure(dlaunch):
    result = dlaunch("--nproc-per-node=2", "--no-python", "false", prefix=ALL_CLOSED)
    assert result.rc == 1


def test_workers_have_all_three(dlaunch, python_worker, seen):
    worker = python_worker("note(f'fds.{rank}', ' '.join(os.readlink(f'/proc/self/fd/{n}') for n in range(3)))\n")
    assert dlaunch("--nproc-per-node=2", "--no-python", worker, prefix=ALL_CLOSED).rc == 0
    assert all(len((seen / f"fds.{rank}").read_text().split()) == 3 for rank in range(2))
