"""The node of a static endpoint is lost: all other nodes end with 81 and name the coordinator.

At once where its kernel still answers; where it is silent a node stops its workers after most of --node-timeout, and
looks for the coordinator for rejoin_timeout.
"""

import os
import signal
import time

import pytest

from processes import until


@pytest.mark.parametrize("which", ["guard", "node"])
def test_a_dead_coordinator_is_detected_at_once(cluster, which):
    job = cluster(3)
    runs = job.begin("3")
    job.world(3)
    if which == "node":
        job.net["node1"].kill_all()
    else:
        os.kill(runs[0].pid, signal.SIGKILL)
    start = time.monotonic()
    for run in runs[1:]:
        result = run.wait(10)
        assert result.rc == 81 and "the coordinator on node1" in result.first_line, result.err
    assert time.monotonic() - start < 3.5
    job.all_empty()


def test_a_silent_coordinator_is_detected_after_the_time_out(cluster):
    job = cluster(2)
    runs = job.begin("2", "--node-timeout=2", conf="rejoin_timeout=3")
    job.world(2)
    job.net["node1"].lose()
    start = time.monotonic()
    until(lambda: not runs[1].workers(), 8, "the end of the worker")
    assert 0.5 < time.monotonic() - start < 4
    assert not runs[1].ended(), "it may still come back"
    result = runs[1].wait(20)
    assert result.rc == 81 and "the coordinator on node1" in result.err
    assert 3.5 < time.monotonic() - start < 9
    job.all_empty()
