"""--scale-up=on-restart and never: a late node of an elastic job waits."""


def test_on_restart_admits_the_node_at_the_next_restart(cluster):
    job = cluster(2)
    options = ("--scale-up=on-restart", "--max-restarts=1")
    runs = [job.join(job.net[0], "1:2", *options)]
    alone = job.world(1)
    runs.append(job.join(job.net[1], "1:2", *options))
    job.net[1].await_connection(job.net[0])
    assert job.rounds() == 1
    job.order(0, "exit 3")
    both = job.world(2, after=alone)
    assert both.restarts == {1}
    job.end_well(both, *runs)


def test_never_admits_no_node(cluster):
    job = cluster(2)
    options = ("--scale-up=never", "--max-restarts=1")
    runs = [job.join(job.net[0], "1:2", *options)]
    alone = job.world(1)
    runs.append(job.join(job.net[1], "1:2", *options))
    job.net[1].await_connection(job.net[0])
    job.order(0, "exit 3")
    after = job.world(1, after=alone)
    assert after.hosts == ["node1"] and after.restarts == {1}
    job.end_well(after, *runs)
