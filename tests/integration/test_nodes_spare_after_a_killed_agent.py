"""A job of two nodes with a spare; SIGKILL to an agent or its guard: the spare replaces the node at once."""

import os
import signal

import pytest

from processes import state, until


@pytest.fixture(params=["open", "token"])
def with_a_spare(cluster, request, tmp_path):
    """Three hosts, the job on two of them, node3 as a spare: (cluster, its runs, the world)."""
    job, options = cluster(3), []
    if request.param == "token":
        path = tmp_path / "token"
        path.write_text("a-token-of-this-job")
        path.chmod(0o600)
        options = [f"--token-file={path}"]
    runs = job.begin("2", *options, hosts=job.net.all[:2])
    world = job.world(2)
    runs.append(job.join(job.net["node3"], "2", *options))
    job.net["node3"].await_connection(job.net["node1"])
    return job, runs, world


@pytest.mark.parametrize("which", ["agent", "guard"])
def test_it_takes_over(with_a_spare, which):
    job, runs, world = with_a_spare
    os.kill(runs[1].agent() if which == "agent" else runs[1].pid, signal.SIGKILL)
    after = job.world(2, after=world, seconds=4)  # sooner than a silent node is evicted
    assert after.hosts == ["node1", "node3"] and after.restarts == {0}
    assert runs[1].wait(5).rc != 0
    job.net["node2"].empty()
    job.end_well(after, runs[0], runs[2])


def test_it_takes_over_though_the_agent_had_not_read_everything(with_a_spare):
    """The kernel sends RST, which is no proof of a death; the guard's good-bye is."""
    job, runs, world = with_a_spare
    agent = runs[1].agent()
    os.kill(agent, signal.SIGSTOP)
    until(lambda: state(agent) == "T", 5, "the stop")
    job.order(0, "exit 3")
    until(lambda: job.net["node2"].unread_from(job.net["node1"]), 5, "the message that ends the round")
    os.kill(agent, signal.SIGKILL)
    after = job.world(2, after=world, seconds=3.5)  # sooner than a silent node is evicted
    assert after.hosts == ["node1", "node3"]
    job.end_well(after, runs[0], runs[2])
