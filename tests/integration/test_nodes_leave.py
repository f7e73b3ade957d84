"""SIGTERM to one dlaunch: the node leaves if enough nodes remain, else the job ends."""

import signal

import pytest

from processes import until


def test_the_remaining_nodes_continue(cluster):
    job = cluster(3)
    runs = job.begin("2:3")
    world = job.world(3)
    runs[2].signal(signal.SIGTERM)
    after = job.world(2, after=world)
    assert after.hosts == ["node1", "node2"] and after.restarts == {0}
    assert runs[2].wait(10).rc == 143
    job.end_well(after, *runs[:2])


def test_a_leaving_spare_stops_no_round(cluster):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2])
    world = job.world(2)
    spare = job.join(job.net["node3"], "2")
    job.net["node3"].await_connection(job.net["node1"])
    spare.signal(signal.SIGTERM)
    assert spare.wait(10).rc == 143 and job.rounds() == 1
    job.end_well(world, *runs)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("which", [0, 1])
def test_a_job_with_too_few_nodes_left_ends(cluster, number, which):
    job = cluster(2)
    runs = job.begin("2")
    job.world(2)
    runs[which].signal(number)
    assert [run.wait(10).rc for run in runs] == [128 + number] * 2
    job.all_empty()


def test_the_coordinators_node_ends_the_job(cluster):
    job = cluster(3)
    runs = job.begin("1:3")
    job.world(3)
    runs[0].signal(signal.SIGTERM)
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [143] * 3
    for result in results:
        text = "dlaunch: SIGTERM received on node1, which hosts the coordinator: the job ends with it\n"
        assert result.err.count(text) == 1, result.err
    job.all_empty()


def test_finished_ranks_do_not_run_again(cluster):
    """A node that leaves while the job is about to end with 0 does not affect the other nodes."""
    job = cluster(3)
    runs = job.begin("1:3")
    job.world(3)
    job.order(0, "exit 0")
    until(lambda: not runs[0].workers(), 5, "the end of rank 0")
    runs[2].signal(signal.SIGTERM)
    assert runs[2].wait(10).rc == 143
    job.order(1, "exit 0")
    results = [run.wait(10) for run in runs[:2]]
    assert [result.rc for result in results] == [0, 0] and job.rounds() == 1
    job.all_empty()
