"""Packet loss in one direction between two nodes: the spare replaces the node, and no two rounds overlap."""

import pytest


@pytest.mark.parametrize("sender, receiver", [("node2", "node1"), ("node1", "node2")])
def test_a_spare_takes_over(cluster, sender, receiver):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2])
    world = job.world(2)
    runs.append(job.join(job.net["node3"], "2"))
    job.net["node3"].await_connection(job.net["node1"])
    job.net[sender].mute(job.net[receiver])
    after = job.world(2, after=world, seconds=20)
    assert after.hosts == ["node1", "node3"] and "node2 was lost" in runs[0].err()
    runs[1].end()
    job.end_well(after, runs[0], runs[2])
