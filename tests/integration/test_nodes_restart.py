"""A worker fails on one of several nodes: all nodes restart together."""

import pytest


@pytest.mark.parametrize("rank", [0, 3])
def test_every_node_restarts(cluster, rank):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1", each=2)
    before = job.world(4)
    assert before.hosts == ["node1", "node1", "node2", "node2"] and before.restarts == {0}
    job.order(rank, "exit 3")
    after = job.world(4, after=before)
    assert after.hosts == before.hosts and after.restarts == {1} and len(after.masters) == 1
    job.end_well(after, *runs)
    assert all(f"rank {rank} (node{rank // 2 + 1}" in run.err() for run in runs)
