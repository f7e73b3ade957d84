"""Ranks follow host names in natural order: node10 comes after node2."""


def test_node10_after_node2(cluster):
    job = cluster("node10", "node9", "node2")
    runs = job.begin("3", each=2)
    world = job.world(6)
    assert world.hosts == ["node2", "node2", "node9", "node9", "node10", "node10"]
    job.end_well(world, *runs)
