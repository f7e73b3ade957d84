"""A node is lost silently: the spare replaces it after --node-timeout, not before."""

import time

import pytest

from processes import until


@pytest.mark.parametrize("how", ["lose", "unplug"])
def test_it_takes_over(cluster, how):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2])
    world = job.world(2)
    runs.append(job.join(job.net["node3"], "2"))
    job.net["node3"].await_connection(job.net["node1"])
    start = time.monotonic()
    getattr(job.net["node2"], how)()
    after = job.world(2, after=world, seconds=15)
    assert time.monotonic() - start > 3.9, "a beat may be 1 s old, and 5 s of silence are allowed"
    assert after.hosts == ["node1", "node3"] and "node2 was lost" in runs[0].err()
    job.no_overlap()
    if how == "unplug":  # the node has fenced itself and waits for the coordinator
        until(lambda: not runs[1].workers(), 5, "the end of the workers on node2")
        runs[1].end()
    job.end_well(after, runs[0], runs[2])
