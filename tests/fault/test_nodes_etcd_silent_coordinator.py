"""The host of a coordinator without workers falls silent: a standby takes over, and the workers of all nodes run on, also
of the nodes that do not watch the claim."""

import pytest

from processes import until

pytestmark = pytest.mark.needs("etcd", "etcdctl")


def test_all_nodes_find_the_standby_that_has_taken_over(by_etcd):
    job, etcd = by_etcd(7)
    host, *nodes = job.net
    options = ["--max-restarts=1", f"--rdzv-endpoint={etcd.endpoint}", "--rdzv-id=job"]
    host.start("coordinator", "--nnodes=6", *options)

    def claim():
        return etcd.members[0].ctl("get", "--print-value-only", "/dlaunch/job/claim").stdout

    before = until(claim, 10, "the coordinator's claim")
    runs = [job.join(node, "6", "--max-restarts=1", endpoint=etcd.endpoint) for node in nodes]
    world = job.world(6)
    host.lose()
    until(lambda: claim() not in ("", before), 15, "a standby's claim")
    assert job.rounds() == 1
    job.order(0, "exit 3")
    after = job.world(6, after=world)
    assert after.restarts == {1} and job.rounds() == 2
    job.end_well(after, *runs)
