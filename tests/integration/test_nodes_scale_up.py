"""A late node of an elastic job is admitted at once, without spending a restart."""


def test_a_late_node_is_admitted_at_once(cluster):
    job = cluster(2)
    runs = [job.join(job.net[0], "1:2")]
    alone = job.world(1)
    runs.append(job.join(job.net[1], "1:2"))
    both = job.world(2, after=alone)
    assert both.restarts == {0} and "node2 joined" in runs[0].err()
    job.end_well(both, *runs)
