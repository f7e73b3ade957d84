"""The coordinator's process is killed or stopped: the guard replaces it, the running round goes on, no worker is touched."""

import os
import signal
import time

import pytest


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=lambda number: number.name)
def test_no_worker_is_touched(cluster, number):
    """A coordinator that is stopped before it serves is replaced after 2 s, so the lease must outlast three of them."""
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1", "--node-timeout=20")
    world = job.world(2)
    workers = [run.workers() for run in runs]
    gone = []
    for _ in range(3):
        gone.append(runs[0].coordinator(but=gone))
        os.kill(gone[-1], number)
    runs[0].coordinator(but=gone)
    assert [run.workers() for run in runs] == workers
    job.end_well(world, *runs)


def test_the_guard_starts_a_killed_agent_again(cluster):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1")
    world = job.world(2)
    coordinator = runs[0].coordinator()
    os.kill(runs[0].agent(), signal.SIGKILL)
    after = job.world(2, after=world, seconds=15)
    assert after.restarts == {0} and runs[0].coordinator() == coordinator
    job.end_well(after, *runs)


def test_failure_restart_and_end_need_no_node_timeout(cluster):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1", "--node-timeout=40")
    world = job.world(2)
    os.kill(runs[0].coordinator(), signal.SIGKILL)
    began = time.monotonic()
    job.order(1, "exit 3")
    after = job.world(2, after=world)
    assert after.restarts == {1}
    job.end_well(after, *runs)
    assert time.monotonic() - began < 20, "the successor waited for nodes although all had come"
