"""--node-rank on an elastic job is honoured, unless two nodes claim the same rank."""


def test_claimed_ranks_are_assigned(cluster):
    job = cluster(3)
    runs = [job.join(host, "3", f"--node-rank={rank}") for host, rank in zip(job.net, (2, 0, 1))]
    world = job.world(3)
    assert world.hosts == ["node2", "node3", "node1"]
    job.end_well(world, *runs)


def test_two_claims_of_one_rank_are_ignored_with_a_warning(cluster):
    job = cluster(3)
    runs = [job.join(host, "3", f"--node-rank={rank}") for host, rank in zip(job.net, (2, 1, 1))]
    world = job.world(3)
    assert world.hosts == ["node1", "node2", "node3"], "natural order"
    assert all("node-rank" in run.err() for run in runs), "and a warning on every node"
    job.end_well(world, *runs)
