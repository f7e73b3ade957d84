"""A spare that was never needed ends with the job's status."""

import pytest


@pytest.mark.parametrize("order, status", [("exit 0", 0), ("exit 5", 5)])
def test_it_ends_like_the_job(cluster, order, status):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2])
    world = job.world(2)
    runs.append(job.join(job.net["node3"], "2"))
    job.net["node3"].await_connection(job.net["node1"])
    job.order(0, order)
    if status == 0:
        job.order(1, order)
    assert [run.wait(10).rc for run in runs] == [status] * 3
    assert len(world.hosts) == 2 and job.rounds() == 1
    job.all_empty()
