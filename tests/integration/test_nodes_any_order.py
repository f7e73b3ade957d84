"""Nodes may be started in any order, the coordinator's node last as well; ranks follow host names."""

import pytest


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_ranks_do_not_depend_on_the_start(cluster, order):
    job = cluster(3)
    runs = [job.join(job.net[which], "3") for which in order]
    world = job.world(3)
    assert world.hosts == ["node1", "node2", "node3"] and world.group_ranks == [0, 1, 2]
    job.end_well(world, *runs)
