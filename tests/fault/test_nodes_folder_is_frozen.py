"""The disk with the folder of --rdzv-endpoint=file:// does not respond: the job still ends, on all nodes."""

import os
import signal
import time

import pytest

from processes import all_pids, children, comm, parent, until
from still_disk import still_disk

LONG, SHORT = 8, 2  # seconds: node time-outs. A replaced coordinator cannot serve until the disk responds.


@pytest.fixture
def by_folder(tmp_path, cluster):
    """by_folder(node_timeout) -> the disk, the Cluster, and the two runs of its job."""
    with still_disk(tmp_path) as disk:
        job = cluster(2)

        def by_folder_(node_timeout):
            endpoint = f"--rdzv-endpoint=file://{disk.path}"
            words = job.words("2", f"--node-timeout={node_timeout}", "--max-restarts=0", "--grace=1")
            words = [endpoint if word.startswith("--rdzv-endpoint=") else word for word in words]
            return disk, job, [host.start(*words) for host in job.net]

        yield by_folder_


def claims(disk):
    return [path.name for path in disk.path.iterdir() if path.name.startswith("dlaunch-")]


def coordinators(run):
    return [pid for pid in children(run.pid) if comm(pid) == "dlaunch-coord"]


def hanging_coordinators(run):
    """A killed process of which only another thread hangs is a zombie: it counts, too."""
    return [pid for pid in all_pids() if parent(pid) == run.pid and comm(pid) == "dlaunch-coord"]


@pytest.mark.root
def test_the_end_does_not_wait_for_the_disk(by_folder):
    disk, job, runs = by_folder(LONG)
    world = job.world(2)
    with disk.frozen():
        job.end_well(world, *runs)
    until(lambda: claims(disk) == [], 5, "the removal of the claim, which the disk delayed")


@pytest.mark.root
def test_a_node_that_leaves_while_no_coordinator_can_act_ends_the_job(by_folder):
    disk, job, runs = by_folder(SHORT)
    job.world(2)
    with disk.frozen():
        until(lambda: "killing the workers" in runs[0].err(), 15, "the end of the lease")
        runs[1].signal(signal.SIGTERM)
        assert runs[1].wait(15).rc == 143
    result = runs[0].wait(40)  # a replaced coordinator waits 10 s for an agent that its guard may restart
    assert result.rc == 80
    assert "was lost: 1 of 2 nodes, no spare and no restart left" in result.err
    job.all_empty()


@pytest.mark.root
def test_coordinators_that_hang_on_the_disk_are_few(by_folder):
    disk, job, runs = by_folder(LONG)
    job.world(2)
    host = next(run for run in runs if coordinators(run))
    os.kill(host.coordinator(), signal.SIGKILL)
    with disk.frozen():
        os.kill(host.coordinator(), signal.SIGKILL)
        until(lambda: len(hanging_coordinators(host)) == 2, 15, "the second coordinator that hangs")
        time.sleep(3)  # longer than the guard waits for a coordinator's start
        assert len(hanging_coordinators(host)) == 2
        for run in runs:
            run.signal(signal.SIGTERM)
    assert {run.wait(20).rc for run in runs} <= {80, 143}
    job.all_empty()
