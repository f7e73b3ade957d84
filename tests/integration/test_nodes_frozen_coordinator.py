"""The coordinator's agent is stopped (SIGSTOP) for longer than --node-timeout: the other agents stop their workers and
reconnect; after SIGCONT all rejoin, and the coordinator does not count its own gap as the loss of a node."""

import os
import signal

from processes import state, until


def test_the_job_continues_after_sigcont(cluster):
    job = cluster(3)
    runs = job.begin("3", "--max-restarts=1")
    world = job.world(3)
    agent = runs[0].agent()
    os.kill(agent, signal.SIGSTOP)
    until(lambda: state(agent) == "T", 5, "the stop")
    until(lambda: not runs[1].workers() and not runs[2].workers(), 10, "the end of the workers beside it")
    assert not runs[1].ended() and not runs[2].ended()
    os.kill(agent, signal.SIGCONT)
    after = job.world(3, after=world, seconds=30)
    assert after.hosts == ["node1", "node2", "node3"] and after.restarts == {0}
    job.end_well(after, *runs)
