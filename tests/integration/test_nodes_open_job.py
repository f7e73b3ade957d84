"""A job of several nodes without a token: the node that hosts the coordinator prints once how to close the job."""

import pytest

from processes import until
from running import OPEN


def told(run):
    return [line for line in run.err().splitlines() if "token" in line]


def test_the_host_says_it_once(cluster):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1")
    world = job.world(2)
    job.order(1, "exit 3")
    after = job.world(2, after=world)
    job.end_well(after, *runs)
    assert [len(told(run)) for run in runs] == [1, 0]
    line = told(runs[0])[0]
    assert line.startswith(OPEN + "10.86.0.1:") and "--token-file" in line


@pytest.mark.parametrize("option", ["--quiet", "--no-token"])
def test_the_user_can_spare_the_line(cluster, option):
    job = cluster(2)
    runs = job.begin("2", option)
    job.end_well(job.world(2), *runs)
    assert [told(run) for run in runs] == [[], []]


def test_a_coordinator_without_workers_says_it(cluster):
    job = cluster(2)
    words = ["coordinator", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400", "--rdzv-id=job"]
    head = job.net[0].start(*words)
    until(lambda: told(head), 10, "the coordinator, before a node takes its place")
    runs = [job.join(host, "2") for host in job.net]
    job.end_well(job.world(2), *runs, head)
    assert [len(told(run)) for run in (head, *runs)] == [1, 0, 0]


def test_a_job_with_a_token_is_closed(cluster, dlaunch, tmp_path):
    assert dlaunch("token", tmp_path / "secret").rc == 0
    job = cluster(2)
    runs = job.begin("2", f"--token-file={tmp_path}/secret")
    job.end_well(job.world(2), *runs)
    assert [told(run) for run in runs] == [[], []]
