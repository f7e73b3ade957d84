"""A stop signal and a node's first assignment arrive in the same turn of its loop."""

import os
import signal

import pytest

from processes import until

KILLED, TERMINATED, INTERRUPTED = signal.SIGKILL, signal.SIGTERM, signal.SIGINT


@pytest.mark.parametrize(
    "number, ends",
    [(KILLED, [80, -9, 80]), (TERMINATED, [143] * 3), (INTERRUPTED, [130] * 3)],
    ids=["guard_is_killed", "SIGTERM", "SIGINT"],
)
def test_all_end(cluster, number, ends):
    job = cluster(3)
    options = ("--grace=1", "--max-restarts=0")
    conf = "join_timeout=3,last_call_timeout=0.5"
    first, second = (job.join(host, "3", *options, conf=conf) for host in job.net.all[:2])
    job.net["node2"].await_connection(job.net["node1"])
    os.kill(second.agent(), signal.SIGSTOP)
    third = job.join(job.net["node3"], "3", *options, conf=conf)
    until(lambda: job.rounds() == 1, 10, "the round, with an assignment that node2 has not read yet")
    second.signal(number)  # wakes its agent
    assert [run.wait(20).rc for run in (first, second, third)] == ends
    job.all_empty()
