"""`dlaunch coordinator` with a folder: SIGTERM hands the job over, to another such coordinator if there is one."""

import signal
import time

import pytest

from processes import children, comm, until


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "rendezvous"
    made.mkdir()
    return made


@pytest.fixture
def together(cluster, folder):
    """together(3) -> a Cluster, and functions that start a coordinator or a node of its job on a host."""

    def together_(count, *options):
        job = cluster(count)
        place = f"--rdzv-endpoint=file://{folder}"
        common = ["--nnodes=2", "--rdzv-backend=c10d", place, "--rdzv-id=job", *options]
        replaced = lambda word: place if word.startswith("--rdzv-endpoint=") else word
        return job, lambda host: host.start("coordinator", *common), lambda host: host.start(*map(replaced, job.words("2", *options)))

    return together_


def hosts_coordinator(run):
    return any(comm(pid) == "dlaunch-coord" for pid in children(run.pid))


def test_a_waiting_coordinator_takes_over_and_the_next_round_begins_at_once(together):
    job, coordinator, node = together(4, "--node-timeout=20", "--max-restarts=1", "--restart-backoff=0")
    first = coordinator(job.net[0])
    until(lambda: hosts_coordinator(first), 10, "the first coordinator")
    second = coordinator(job.net[1])
    nodes = [node(host) for host in (job.net[2], job.net[3])]
    world = job.world(2)
    first.signal(signal.SIGTERM)
    assert first.wait(10).rc == 143
    until(lambda: hosts_coordinator(second), 5, "the second coordinator")
    began = time.monotonic()
    job.order(0, "exit 3")
    after = job.world(2, after=world)
    assert time.monotonic() - began < 10, "half of the node time-out"
    assert after.restarts == {1}
    job.end_well(after, *nodes)
    assert second.wait(10).rc == 0


def test_without_nodes_it_leaves_nothing_that_binds(together, folder):
    job, coordinator, node = together(3)
    first = coordinator(job.net[0])
    until(lambda: hosts_coordinator(first), 10, "the coordinator")
    first.signal(signal.SIGTERM)
    assert first.wait(10).rc == 143
    began = time.monotonic()
    nodes = [node(host) for host in (job.net[1], job.net[2])]
    world = job.world(2)
    assert time.monotonic() - began < 5
    job.end_well(world, *nodes)
    assert list(folder.iterdir()) == []
