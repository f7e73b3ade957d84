"""An agent is stopped (SIGSTOP) for longer than --node-timeout and then continued: it has been replaced, ends the remains of
its round, and rejoins as a spare."""

import os
import signal

from processes import state, until


def test_the_continued_agent_is_a_spare(cluster):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2])
    world = job.world(2)
    runs.append(job.join(job.net["node3"], "2"))
    job.net["node3"].await_connection(job.net["node1"])
    agent = runs[1].agent()
    os.kill(agent, signal.SIGSTOP)
    until(lambda: state(agent) == "T", 5, "the stop")
    after = job.world(2, after=world, seconds=15)
    assert after.hosts == ["node1", "node3"]

    os.kill(agent, signal.SIGCONT)
    until(lambda: not runs[1].workers(), 5, "the end of the old worker")
    job.net["node2"].await_connection(job.net["node1"])
    assert not runs[1].ended() and job.rounds() == 2, "a spare stops no round"

    os.kill(runs[2].agent(), signal.SIGKILL)
    again = job.world(2, after=after)
    assert again.hosts == ["node1", "node2"], "it takes over from the one that replaced it"
    job.end_well(again, *runs[:2], may_overlap=True)  # the guard ends the frozen agent's workers
