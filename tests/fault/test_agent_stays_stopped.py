"""An agent is stopped for good, as in a debugger: neither a request to end nor the job of other nodes waits for it."""

import signal
import time

from processes import stop, until
from traced import traced, unread_signals


def test_the_guard_ends_the_job_if_the_agent_reads_no_request(job):
    run = job("ready\nexec sleep 600\n")
    run.ready(2)
    with traced(run.agent()):
        run.signal(signal.SIGTERM)
        result = run.wait(9)
    assert result.rc == 143
    assert "SIGTERM received, but the agent" in result.err and "does not respond" in result.err
    run.nothing_left()


def test_a_second_request_ends_the_job_at_once(job):
    run = job("ready\nexec sleep 600\n")
    run.ready(2)
    with traced(run.agent()):
        run.signal(signal.SIGINT)
        until(lambda: not unread_signals(run.pid), 2, "the guard's reading of the first one")
        run.signal_again(signal.SIGINT)
        result = run.wait(3)
    assert result.rc == 130
    run.nothing_left()


def test_a_frozen_node_ends_after_the_rejoin_timeout(cluster):
    job = cluster(2)
    runs = job.begin("1:2", "--node-timeout=2", conf="rejoin_timeout=2,last_call_timeout=0.5")
    world = job.world(2)
    stop(runs[1].agent())
    result = runs[1].wait(10)
    assert result.rc == 81 and "the job was lost, but the agent" in result.err
    job.end_well(job.world(1, after=world), runs[0])


def test_a_frozen_agent_beside_the_coordinator_ends_with_the_verdict_of_the_job(cluster):
    """The other node finishes the job meanwhile, under the coordinator of the frozen agent's guard."""
    job = cluster(2)
    runs = job.begin("1:2", "--node-timeout=2", conf="rejoin_timeout=6,last_call_timeout=0.5")
    world = job.world(2)
    stop(runs[0].agent())
    job.world(1, after=world)
    job.order(0, "exit 0")
    assert runs[1].wait(10).rc == 0
    result = runs[0].wait(15)
    assert result.rc == 0 and "the job is over, but the agent" in result.err
