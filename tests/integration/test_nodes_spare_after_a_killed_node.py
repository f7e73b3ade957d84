"""Every process of a node is killed, the guard too: closed connections prove no death, so the spare waits for silence."""


def test_it_takes_over(cluster):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2], each=2)
    world = job.world(4)
    runs.append(job.join(job.net["node3"], "2", each=2))
    job.net["node3"].await_connection(job.net["node1"])
    job.net["node2"].kill_all()
    after = job.world(4, after=world, seconds=9)
    assert after.hosts == ["node1", "node1", "node3", "node3"]
    job.end_well(after, runs[0], runs[2])
