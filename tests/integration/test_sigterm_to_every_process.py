"""SIGTERM to all processes of a node at once, as schedulers and systemd send it: no worker's exit counts as a failure."""

import os
import signal

import pytest

from processes import alive, stop, until

HANDLERS = pytest.mark.parametrize(
    "handler", ["", "trap 'exit 3' TERM", "trap 'exit 0' TERM"], ids=["none", "fails", "ends_well"]
)


def signal_all(run, workers):
    """The agent is stopped (SIGSTOP) meanwhile, so that all events arrive at once, the workers' exits first."""
    agent = run.agent()
    stop(agent)
    for pid in workers:
        os.kill(pid, signal.SIGTERM)
    until(lambda: not any(alive(pid) for pid in workers), 10, "the end of the workers")
    os.kill(agent, signal.SIGTERM)
    run.signal(signal.SIGTERM)  # the guard wakes the agent


@HANDLERS
def test_a_node_leaves(cluster, seen, handler):
    job = cluster(3)
    runs = job.begin("2:3")
    world = job.world(3)
    for rank in range(3):
        job.order(rank, f"{handler}; note heeds.{rank} yes" if handler else f"note heeds.{rank} yes")
    until(lambda: len(list(seen.glob("heeds.*"))) == 3, 10, "the traps")
    signal_all(runs[2], list(runs[2].workers().values()))
    after = job.world(2, after=world)
    assert after.hosts == ["node1", "node2"] and after.restarts == {0}
    result = runs[2].wait(10)
    assert result.rc == 143 and "rank 2" not in result.err, result.err
    assert "rank 2" not in runs[0].err()
    job.end_well(after, *runs[:2])


@HANDLERS
def test_a_job_of_one_node_ends(job, handler):
    run = job(f"{handler}\nready\nwhile :; do sleep 0.01; done", "--max-restarts=3")
    result_of = run.ready(2)
    signal_all(run, result_of)
    result = run.wait(10)
    assert result.rc == 143 and "rank" not in result.err, result.err
    run.nothing_left()


def test_systemd_sends_sighup_too(job):
    """The status is SIGTERM's, and the second signal does not shorten the workers' grace."""
    run = job("trap 'note saved.$RANK yes; exit 0' TERM\ntrap '' HUP\nready\nwhile :; do sleep 0.01; done", "--grace=60")
    run.ready(2)
    agent = run.agent()
    stop(agent)
    for pid in (agent, run.pid):
        for number in (signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
    result = run.wait(10)
    assert result.rc == 143 and len(list(run.folder.glob("saved.*"))) == 2, result.err


def test_a_worker_that_alone_gets_sigterm_has_failed(job):
    run = job("ready\nwhile :; do sleep 0.01; done", "--max-restarts=0")
    os.kill(run.ready(2)[1], signal.SIGTERM)
    result = run.wait(10)
    assert result.rc == 143 and "rank 1" in result.first_line and "SIGTERM" in result.first_line, result.err
