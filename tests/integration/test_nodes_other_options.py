"""Nodes with different job options: the coordinator's apply, and the differing node gets a warning."""

from running import without_open_line


def test_a_differing_node_is_warned_of_the_options_in_force(cluster):
    job = cluster(2)
    runs = [job.join(job.net[0], "2"), job.join(job.net[1], "2:3", "--max-restarts=4")]
    world = job.world(2)
    assert runs[1].err() == (
        "dlaunch: this node has --nnodes=2:3 --max-restarts=4; the job runs with --nnodes=2 --max-restarts=0 of node1, "
        "which hosts the coordinator\n"
    )
    assert without_open_line(runs[0].err()) == ""
    job.end_well(world, *runs)


def test_nodes_may_have_different_numbers_of_workers(cluster):
    job = cluster(2)
    runs = [job.join(job.net[0], "2", each=1), job.join(job.net[1], "2", each=2)]
    world = job.world(3)
    assert world.hosts == ["node1", "node2", "node2"] and not any(without_open_line(run.err()) for run in runs)
    job.end_well(world, *runs)
