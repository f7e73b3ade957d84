"""srun -n 4 dlaunch ./prog: one agent a node, with as many workers as SLURM gave the node tasks."""

import os

import pytest

SHOW = 'note "$RANK.place" "$(hostname) $LOCAL_RANK $LOCAL_WORLD_SIZE $PPID"\n'


@pytest.mark.parametrize("srun, sizes", [(["-N2", "--ntasks-per-node=2"], [2, 2]), (["-N2", "-n3"], [2, 1])], ids=["equal", "uneven"])
def test_workers_are_as_many_as_tasks(slurm, seen, shell_worker, srun, sizes):
    cluster = slurm(2)
    result = cluster.srun(*srun, "dlaunch", shell_worker(SHOW)).wait(40)
    places = [path.read_text().split() for path in sorted(seen.glob("*.place"))]
    expected = [[f"node{n + 1}", str(local), str(size)] for n, size in enumerate(sizes) for local in range(size)]
    assert result.rc == 0 and [place[:3] for place in places] == expected, result.err
    assert len({(place[0], place[3]) for place in places}) == 2, "the workers of a node have one agent"
    cluster.empty()


def test_every_task_ends_with_the_status_and_the_report_is_there_once(slurm, shell_worker):
    cluster = slurm(1)
    worker = shell_worker("[ $RANK != 1 ] || exit 7\nexec sleep $TEST_RUN_MARK\n")
    result = cluster.srun("-n3", "dlaunch", worker).wait(40)
    assert result.rc == 7 and result.err.count("dlaunch: rank 1 ") == 1, result.err
    assert "tasks 0-2: Exited with exit code 7" in result.err or result.err.count("Exited with exit code 7") == 3, result.err
    cluster.empty()


@pytest.mark.parametrize("options", [["--gpus-per-task=1"], ["--gpus-per-node=2", "--gpu-bind=single:1"]])
def test_gpus_that_are_bound_to_tasks_are_mentioned(slurm, options):
    cluster = slurm(1)
    result = cluster.srun("-n2", *options, "dlaunch", "true").wait(40)
    assert result.rc == 0 and result.err.count("the workers of this node share 1 of its 2 GPUs") == 1, result.err


def test_gpus_of_the_node_are_no_matter(slurm):
    cluster = slurm(1)
    assert cluster.srun("-n2", "--gpus-per-node=2", "dlaunch", "true").wait(40).err == ""


@pytest.mark.skipif(os.cpu_count() < 2, reason="a machine with one core")
def test_workers_use_the_cores_of_all_tasks(slurm):
    """srun binds each task to a core; the agent is one of the tasks."""
    cluster = slurm(1, binds=True)
    result = cluster.srun("-n2", "dlaunch", "sh", "-c", "echo $OMP_NUM_THREADS; OMP_NUM_THREADS= nproc").wait(40)
    assert (result.rc, result.err) == (0, "") and sorted(result.out.split()) == ["1", "1", "2", "2"], result
