"""After a loss the survivors keep their ranks, and a new node takes the free rank, also rank 0."""


def test_the_newcomer_takes_the_hole(cluster):
    job = cluster(4)
    runs = job.begin("3", hosts=job.net.all[:3])
    world = job.world(3)
    runs.append(job.join(job.net["node4"], "3"))
    job.net["node4"].await_connection(job.net["node1"])
    job.net["node2"].kill_all()
    after = job.world(3, after=world)
    assert after.hosts == ["node1", "node4", "node3"] and after.master_addresses == world.master_addresses
    job.end_well(after, runs[0], runs[2], runs[3])


def test_the_workers_store_moves_with_rank_0(cluster):
    """The coordinator is on node3, which does not have rank 0."""
    job = cluster(3)
    hosts = [job.net["node3"], job.net["node2"]]
    runs = job.begin("2", hosts=hosts, endpoint="node3")
    world = job.world(2)
    assert world.hosts == ["node2", "node3"] and world.master_addresses == {"10.86.0.2"}
    runs.append(job.join(job.net["node1"], "2", endpoint="node3"))
    job.net["node1"].await_connection(job.net["node3"])
    job.net["node2"].kill_all()
    after = job.world(2, after=world)
    assert after.hosts == ["node1", "node3"] and after.master_addresses == {"10.86.0.1"}
    job.end_well(after, runs[0], runs[2])
