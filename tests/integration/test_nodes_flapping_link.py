"""A link that recovers before --node-timeout: no restart, then or later."""

import time

import pytest

from processes import until


@pytest.mark.parametrize("how", [("cut", "mend"), ("unplug", "plug_in")], ids=["silent", "carrier"])
def test_nothing_changes(cluster, how):
    job = cluster(2)
    runs = job.begin("2", "--node-timeout=8")
    world = job.world(2)
    workers = [run.workers() for run in runs]
    for _ in range(2):
        getattr(job.net["node2"], how[0])()
        time.sleep(1)  # the length of the loss
        getattr(job.net["node2"], how[1])()
        until(lambda: beats_pass(job), 8, "a beat after the cut")
    assert [run.workers() for run in runs] == workers and job.rounds() == 1
    job.end_well(world, *runs)


def test_ten_times_a_second_changes_nothing(cluster):
    job = cluster(2)
    runs = job.begin("2", "--node-timeout=8")
    world = job.world(2)
    workers = [run.workers() for run in runs]
    for _ in range(30):
        job.net["node2"].unplug()
        time.sleep(0.05)  # the length of the loss, and of what lies between
        job.net["node2"].plug_in()
        time.sleep(0.05)
    until(lambda: beats_pass(job), 8, "a beat after the last one")
    assert [run.workers() for run in runs] == workers and job.rounds() == 1
    job.end_well(world, *runs)


def beats_pass(job):
    """True if the link works again: node2 has no unacknowledged data for node1."""
    return job.net["node2"].connected_to(job.net["node1"], unsent=False)
