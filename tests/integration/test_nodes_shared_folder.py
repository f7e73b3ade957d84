"""--rdzv-endpoint=file:///folder: nodes with a shared folder rendezvous without a configured address."""

import os
import signal

import pytest

from processes import until


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "rendezvous"
    made.mkdir()
    return made


def claims(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def by_folder(cluster, folder):
    """by_folder(2) -> a Cluster, and a function that starts its job on a host through the folder."""

    def by_folder_(count):
        job = cluster(count)
        replaced = lambda word: f"--rdzv-endpoint=file://{folder}" if word.startswith("--rdzv-endpoint=") else word
        return job, lambda host, *args, **more: host.start(*map(replaced, job.words(*args, **more)))

    return by_folder_


def test_nodes_meet_restart_and_leave_nothing(by_folder, folder):
    job, join = by_folder(3)
    runs = [join(host, "3", "--max-restarts=1") for host in job.net]
    world = job.world(3)
    assert sorted(world.hosts) == ["node1", "node2", "node3"]
    assert claims(folder) == ["dlaunch-job.1"]
    job.order(1, "exit 3")
    after = job.world(3, after=world)
    assert after.restarts == {1}
    job.end_well(after, *runs)
    assert claims(folder) == []


def test_two_jobs_share_the_folder(by_folder, folder):
    job, join = by_folder(2)
    runs = [join(job.net[0], "1:2"), join(job.net[1], "2", job="other")]
    until(lambda: "dlaunch-other.1" in claims(folder), 10, "the other job's claim")
    job.world(1)
    assert claims(folder) == ["dlaunch-job.1", "dlaunch-other.1"]
    job.order(0, "exit 0")
    assert runs[0].wait(10).rc == 0
    runs[1].signal(signal.SIGTERM)
    assert runs[1].wait(10).rc == 143
    assert claims(folder) == []


def test_a_dead_jobs_claim_is_no_hindrance(by_folder, folder):
    job, join = by_folder(2)
    first = join(job.net[0], "2")
    until(lambda: claims(folder) == ["dlaunch-job.1"], 10, "the claim")
    os.kill(first.pid, signal.SIGKILL)
    first.wait(10)
    assert claims(folder) == ["dlaunch-job.1"], "a killed node cannot remove its claim"
    runs = [join(host, "2") for host in (job.net[1], job.net[0])]
    world = job.world(2)
    assert claims(folder) == ["dlaunch-job.2"]
    job.end_well(world, *runs)
    assert claims(folder) == []


def test_a_folder_that_is_not_there(dlaunch, tmp_path):
    result = dlaunch("--nnodes=2", f"--rdzv-endpoint=file://{tmp_path}/nowhere", "true")
    assert result.rc == 2 and "nowhere: No such file or directory, expected a folder" in result.first_line


@pytest.mark.parametrize("endpoint", ["file://shared", "file:///x,node1"])
def test_a_folder_that_cannot_be_meant(dlaunch, endpoint):
    result = dlaunch("--nnodes=2", f"--rdzv-endpoint={endpoint}", "true")
    assert result.rc == 2 and "dlaunch: --rdzv-endpoint" in result.first_line


def test_it_is_not_for_the_static_backend(dlaunch, tmp_path):
    result = dlaunch("--nnodes=2", "--rdzv-backend=static", f"--rdzv-endpoint=file://{tmp_path}", "true")
    assert result.rc == 2 and "expected c10d with an endpoint that is a folder" in result.first_line
