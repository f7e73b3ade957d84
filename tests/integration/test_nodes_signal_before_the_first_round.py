"""A signal before the first round: the node ends at once with 128 + n, and waiting nodes are informed."""

import os
import signal
import socket

import pytest

from hosts import PORT, inside
from processes import state, until
from running import without_open_line

SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


def ends(run, number):
    run.signal(number)
    result = run.wait(10)
    assert result.rc == 128 + number, result.err
    run.host.empty()


@SIGNALS
def test_the_endpoint_refuses_connections(cluster, number):
    job = cluster(2)
    ends(job.join(job.net[1], "2"), number)


@SIGNALS
def test_the_endpoint_drops_packets(cluster, number):
    job = cluster(2)
    job.net[0].cut()
    ends(job.join(job.net[1], "2"), number)


@SIGNALS
def test_the_endpoint_accepts_and_sends_nothing(cluster, number):
    job = cluster(2)
    with inside(job.net[0]):
        mute = socket.create_server((job.net[0].address, PORT))
    run = job.join(job.net[1], "2")
    job.net[1].await_connection(job.net[0])
    ends(run, number)
    mute.close()


@SIGNALS
@pytest.mark.parametrize("which", [0, 1])
def test_nodes_that_wait_for_a_fixed_number_end_too(cluster, number, which):
    job = cluster(2)
    runs = [job.join(host, "3") for host in job.net]
    job.net[1].await_connection(job.net[0])
    runs[which].signal(number)
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [128 + number] * 2
    name = signal.Signals(number).name
    for result in results:
        assert f"{name} received" in result.err and len(without_open_line(result.err).splitlines()) == 1, result.err
    job.all_empty()


@SIGNALS
def test_nodes_of_an_elastic_job_keep_waiting(cluster, number):
    job = cluster(4)
    runs = [job.join(host, "3:4") for host in job.net.all[:2]]
    job.net[1].await_connection(job.net[0])
    ends(runs[1], number)
    assert not runs[0].ended()
    runs = [runs[0], *(job.join(host, "3:4") for host in job.net.all[2:])]
    world = job.world(3)
    assert world.hosts == ["node1", "node3", "node4"]
    job.end_well(world, *runs)


@SIGNALS
def test_the_coordinator_is_frozen(cluster, number):
    job = cluster(2)
    runs = [job.join(host, "3") for host in job.net]
    job.net[1].await_connection(job.net[0])
    agent = runs[0].agent()
    os.kill(agent, signal.SIGSTOP)
    until(lambda: state(agent) == "T", 5, "the stop")
    ends(runs[1], number)
    ends(runs[0], number)
