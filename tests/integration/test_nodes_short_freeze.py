"""An agent is stopped (SIGSTOP) for less than --node-timeout: no restart, then or later."""

import os
import signal
import time

import pytest

from processes import state, until


@pytest.mark.parametrize("which", [0, 1])
def test_nothing_changes(cluster, which):
    job = cluster(2)
    runs = job.begin("2", "--node-timeout=8")
    world = job.world(2)
    workers = [run.workers() for run in runs]
    agent = runs[which].agent()
    os.kill(agent, signal.SIGSTOP)
    until(lambda: state(agent) == "T", 5, "the stop")
    time.sleep(2)  # the length of the pause
    os.kill(agent, signal.SIGCONT)
    until(lambda: job.net["node2"].connected_to(job.net["node1"], unsent=False), 5, "a beat after the pause")
    assert [run.workers() for run in runs] == workers and job.rounds() == 1
    job.end_well(world, *runs)
