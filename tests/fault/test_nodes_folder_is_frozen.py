"""The disk with the folder of --rdzv-endpoint=file:// does not respond: the job still ends, on all nodes."""

import signal

import pytest

from processes import until
from still_disk import still_disk

NODE_TIMEOUT = 2  # seconds


@pytest.fixture
def by_folder(tmp_path, cluster):
    """The disk, the Cluster, and the two runs of its job."""
    with still_disk(tmp_path) as disk:
        job = cluster(2)
        endpoint = f"--rdzv-endpoint=file://{disk.path}"
        words = job.words("2", f"--node-timeout={NODE_TIMEOUT}", "--max-restarts=0", "--grace=1")
        words = [endpoint if word.startswith("--rdzv-endpoint=") else word for word in words]
        yield disk, job, [host.start(*words) for host in job.net]


def claims(disk):
    return [path.name for path in disk.path.iterdir() if path.name.startswith("dlaunch-")]


@pytest.mark.root
def test_the_end_does_not_wait_for_the_disk(by_folder):
    disk, job, runs = by_folder
    world = job.world(2)
    with disk.frozen():
        job.end_well(world, *runs)
    until(lambda: claims(disk) == [], 5, "the removal of the claim, which the disk delayed")


@pytest.mark.root
def test_a_node_that_leaves_while_no_coordinator_can_act_ends_the_job(by_folder):
    disk, job, runs = by_folder
    job.world(2)
    with disk.frozen():
        until(lambda: "killing the workers" in runs[0].err(), 15, "the end of the lease")
        runs[1].signal(signal.SIGTERM)
        assert runs[1].wait(15).rc == 143
    result = runs[0].wait(40)  # a replaced coordinator waits 10 s for an agent that its guard may restart
    assert result.rc == 80
    assert "was lost: 1 of 2 nodes, no spare and no restart left" in result.err
    job.all_empty()
