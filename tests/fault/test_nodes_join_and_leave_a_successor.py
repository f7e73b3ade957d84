"""Nodes that join or leave an elastic job while its coordinator is being replaced."""

import os
import signal

from processes import until


def test_a_leave_before_all_nodes_have_come_back_takes_one_node(cluster):
    job = cluster(3)
    runs = job.begin("2:3", "--max-restarts=1", "--node-timeout=20")
    world = job.world(3)
    late = runs[2].agent()
    os.kill(late, signal.SIGSTOP)
    coordinator = runs[0].coordinator()
    os.kill(coordinator, signal.SIGKILL)
    runs[0].coordinator(but=[coordinator])
    runs[1].signal(signal.SIGTERM)
    until(lambda: "SIGTERM received" in runs[1].err() and not runs[1].workers(), 10, "the end of the leaver's worker")
    os.kill(late, signal.SIGCONT)
    assert runs[1].wait(20).rc == 143
    after = job.world(2, after=world)
    assert after.restarts == {0}
    job.end_well(after, runs[0], runs[2])


def test_a_newcomer_that_waits_is_admitted_by_the_successor(cluster):
    job = cluster(3)
    words = {"conf": "last_call_timeout=2"}
    runs = [job.join(host, "2:4", "--node-timeout=20", **words) for host in list(job.net)[:2]]
    world = job.world(2)
    runs.append(job.join(job.net[2], "2:4", "--node-timeout=20", **words))
    until(lambda: "waiting as a newcomer" in runs[2].err(), 10, "the newcomer's wait")
    os.kill(runs[0].coordinator(), signal.SIGKILL)
    after = job.world(3, after=world)
    assert after.restarts == {0}
    job.end_well(after, *runs)
