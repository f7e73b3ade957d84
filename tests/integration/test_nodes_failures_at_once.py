"""Workers on several nodes fail at the same moment, or again during a restart: each round costs one restart."""

import os
import signal

from processes import state, stop, until


def test_two_simultaneous_failures_cost_one_restart(cluster):
    """Each agent observes its own worker's failure before the other agent's report arrives."""
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=3", each=2)
    world = job.world(4)
    agents = [run.agent() for run in runs]
    failing = [runs[0].workers()[0], runs[1].workers()[3]]
    for pid in agents:
        stop(pid)
    for pid in failing:
        os.kill(pid, signal.SIGKILL)
        until(lambda: state(pid) == "Z", 5, "the death")
    for pid in agents:
        os.kill(pid, signal.SIGCONT)
    after = job.world(4, after=world)
    assert after.round == 1 and after.restarts == {1}
    job.end_well(after, *runs)
    assert job.rounds() == 2
    reports = [run.err() for run in runs]
    assert "rank 0 (node1" in reports[0] and "rank 3 (node2" in reports[1]
    first = [rank for rank in (0, 3) if all(f"rank {rank} (" in err for err in reports)]
    assert len(first) == 1, f"both nodes name the same cause of the restart: {reports}"


def test_a_failure_right_after_the_restart(cluster):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=3", each=2)
    job.first(1, 3, "exit 4")
    world = job.world(4)
    job.order(0, "exit 3")
    while world.round < 2:
        world = job.world(4, after=world)
    assert world.round == 2 and world.restarts == {2}
    job.end_well(world, *runs)
