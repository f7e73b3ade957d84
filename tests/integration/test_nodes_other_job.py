"""A node of another job is refused with 83; the message names both jobs."""


def test_it_is_refused(cluster):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2], job="night7")
    world = job.world(2)
    result = job.join(job.net["node3"], "2", job="night8").wait(10)
    assert result.rc == 83 and "night7" in result.first_line and "night8" in result.first_line, result.err
    job.net["node3"].empty()
    assert job.rounds() == 1
    job.end_well(world, *runs)
