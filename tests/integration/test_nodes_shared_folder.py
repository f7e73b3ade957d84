"""--rdzv-endpoint=file:///folder: nodes with a shared folder rendezvous without a configured address."""

import os
import signal
import time

import pytest

from processes import alive, state, until
from running import kill


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


def test_nodes_join_restart_and_remove_their_claim(by_folder, folder):
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


def test_a_dead_jobs_claim_is_replaced(by_folder, folder):
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


def test_the_coordinator_keeps_an_emptied_folder(by_folder, folder):
    job, join = by_folder(2)
    runs = [join(host, "2") for host in job.net]
    world = job.world(2)
    claim = folder / "dlaunch-job.1"
    before = claim.read_text()
    for _ in range(3):
        claim.unlink()
        until(lambda: claims(folder) == ["dlaunch-job.1"], 5, "the claim")
        assert claim.read_text() == before, "the same coordinator's"
    assert job.rounds() == 1
    job.end_well(world, *runs)
    assert claims(folder) == []


def test_a_missing_folder(dlaunch, tmp_path):
    result = dlaunch("--nnodes=2", f"--rdzv-endpoint=file://{tmp_path}/nowhere", "true")
    assert result.rc == 2 and "nowhere: No such file or directory, expected a folder" in result.first_line


@pytest.mark.parametrize("endpoint", ["file://shared", "file:///x,node1"])
def test_an_invalid_folder(dlaunch, endpoint):
    result = dlaunch("--nnodes=2", f"--rdzv-endpoint={endpoint}", "true")
    assert result.rc == 2 and "dlaunch: --rdzv-endpoint" in result.first_line


def test_it_is_not_for_the_static_backend(dlaunch, tmp_path):
    result = dlaunch("--nnodes=2", "--rdzv-backend=static", f"--rdzv-endpoint=file://{tmp_path}", "true")
    assert result.rc == 2 and "expected c10d with an endpoint that is a folder" in result.first_line


def test_a_node_frozen_until_after_the_end_does_not_run_the_job_again(by_folder, folder):
    """The end of the job has removed the claim; an elastic job of this node alone would be possible."""
    job, join = by_folder(2)
    options = ("1:2", "--node-timeout=2")
    runs = [join(job.net[0], *options)]
    until(lambda: claims(folder) == ["dlaunch-job.1"], 10, "the claim")
    runs.append(join(job.net[1], *options))
    world = job.world(2)
    frozen = [pid for pid in runs[1].living() if pid != runs[1].pid]  # nsenter would stop with the guard
    for pid in frozen:
        kill(pid, signal.SIGSTOP)
    after = job.world(1, after=world)
    job.order(0, "exit 0")
    assert runs[0].wait(15).rc == 0 and claims(folder) == []
    for pid in frozen:
        kill(pid, signal.SIGCONT)
    result = runs[1].wait(20)
    assert result.rc == 81 and "was lost" in result.err
    assert job.rounds() == after.round + 1 and claims(folder) == []


def test_a_coordinator_frozen_after_the_last_exit_removes_the_claim(by_folder, folder, tmp_path):
    """A frozen agent has not read the verdict yet, so the coordinator still serves; it resumes after its lease."""
    job, join = by_folder(2)
    options = ("2", "--node-timeout=3", f"--event-log={tmp_path}/events")
    runs = [join(job.net[0], *options)]
    until(lambda: claims(folder) == ["dlaunch-job.1"], 10, "the claim")
    runs.append(join(job.net[1], *options))
    world = job.world(2)
    agents, other = [run.workers_parent() for run in runs], world.hosts.index("node2")
    job.order(other, "exit 0")
    until(lambda: "round_over" in (tmp_path / "events").read_text(), 5, "the end of the other node's round")
    until(lambda: state(agents[1]) == "S", 5, "the report of the other node")
    os.kill(agents[1], signal.SIGSTOP)
    job.order(1 - other, "exit 0")
    until(lambda: not alive(agents[0]), 10, "the end of the hosting node's agent")
    hosting, nsenter = [runs[0].pid, runs[0].coordinator()], runs[0].process.pid
    for pid in hosting:
        os.kill(pid, signal.SIGSTOP)
    until(lambda: state(nsenter) == "T", 5, "the stop of nsenter, which follows that of its child")
    time.sleep(2)  # the lease is 1.2 s
    for pid in (*hosting, nsenter, agents[1]):
        os.kill(pid, signal.SIGCONT)
    for run in runs:
        result = run.wait(15)
        assert result.rc == 0, result.err
    assert claims(folder) == []


@pytest.mark.parametrize("attempt", range(4))
def test_a_signal_right_behind_the_death_of_the_agent_ends_its_node(by_folder, attempt):
    job, join = by_folder(1)
    run = join(job.net[0], "1:2")
    job.world(1)
    os.kill(run.agent(), signal.SIGKILL)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143, run.err()
