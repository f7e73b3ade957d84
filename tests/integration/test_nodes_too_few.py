"""Fewer nodes than the job needs: all of them end with 80, and the message counts the nodes that joined."""

import os
import signal

import pytest

from processes import until


def test_the_number_of_nodes_is_reported(cluster):
    job = cluster(2)
    runs = job.begin("3", conf="join_timeout=1.5")
    for run in runs:
        result = run.wait(10)
        assert result.rc == 80 and "rendezvous timed out after 1.5 s: 2 of 3 nodes" in result.err, result.err
    assert job.rounds() == 0
    job.all_empty()


@pytest.mark.parametrize("conf", ["join_timeout=1", "read_timeout=1"])
def test_no_answer_at_the_endpoint(cluster, conf):
    job = cluster(2)
    result = job.join(job.net["node2"], "2", conf=conf).wait(10)
    assert result.rc == 80 and "timed out after 1 s: no answer from" in result.err and "node1:29400" in result.err
    job.all_empty()


def test_the_endpoint_has_no_carrier(cluster):
    job = cluster(2)
    job.net["node2"].unplug()
    result = job.join(job.net["node2"], "2", conf="join_timeout=1").wait(10)
    assert result.rc == 80 and "node1:29400" in result.err


def test_the_lost_node_is_named(cluster):
    """A job of two nodes with a restart left loses one, and no node replaces it: a spare was lost before."""
    job = cluster(3)
    runs = job.begin("2", "--max-restarts=1", hosts=job.net.all[:2], conf="join_timeout=3")
    job.world(2)
    spare = job.join(job.net["node3"], "2", "--max-restarts=1", conf="join_timeout=3")
    until(lambda: job.net["node1"].serves(job.net["node3"]), 10, "the connection of the spare")
    os.kill(spare.agent(), signal.SIGKILL)  # its guard says good-bye: the job does not wait for it
    spare.wait(10)
    until(lambda: not job.net["node1"].serves(job.net["node3"]), 10, "the end of the spare's connection")
    job.net["node2"].kill_all()
    result = runs[0].wait(15)
    assert result.rc == 80 and "timed out after 3 s: 1 of 2 nodes, waiting for: node2\n" in result.err, result.err
    job.all_empty()
