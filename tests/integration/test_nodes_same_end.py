"""The job fails finally: every node ends at once with the same cause, including the node's name, and the same status."""

import signal

import pytest

from running import without_open_line


@pytest.mark.parametrize(
    "rank, order, status, word",
    [(2, "exit 41", 41, "exited with 41"), (0, "exit 77", 77, "exited with 77"), (1, "kill -SEGV $$", 139, "SIGSEGV")],
)
def test_every_node_ends_with_the_same_status(cluster, rank, order, status, word):
    job = cluster(3)
    runs = job.begin("3")
    job.world(3)
    job.order(rank, order)
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [status] * 3
    causes = {next(line for line in result.err.splitlines() if "rank" in line) for result in results}
    assert len(causes) == 1, causes
    (cause,) = causes
    assert cause.startswith(f"dlaunch: rank {rank} (node{rank + 1}, pid ") and word in cause
    job.all_empty()


def test_nothing_is_reported_twice(cluster):
    """The report starts with the reason for the stop; the failure that led to it follows."""
    job = cluster(2)
    runs = job.begin("2")
    job.world(2)
    job.order(1, "exit 7")
    for run in runs:
        lines = [line for line in without_open_line(run.wait(10).err).splitlines() if line.startswith("dlaunch: ")]
        assert len(lines) == 1 and "rank 1 (node2, pid " in lines[0], run.err()
        assert "  exit status:   7" in run.err()


def test_a_signal_is_reported_once_on_every_node(cluster):
    job = cluster(2)
    runs = job.begin("2")
    job.world(2)
    runs[1].signal(signal.SIGTERM)
    first, second = [run.wait(10) for run in runs]
    assert without_open_line(first.err) == "dlaunch: SIGTERM received on node2\n"
    assert second.err.startswith("dlaunch: SIGTERM received, ending the job") and second.err.count("\n") == 1


def test_the_program_is_missing_on_one_node(cluster):
    """Every node ends with 127 and names the node; no restart is spent."""
    job = cluster(2)
    missing = [*job.words("2", "--max-restarts=3")[:-1], "/no/such/program"]
    runs = [job.join(job.net[0], "2", "--max-restarts=3"), job.net[1].start(*missing)]
    for run in runs:
        result = run.wait(10)
        assert result.rc == 127 and "node2" in result.err and "/no/such/program" in result.err
    assert job.rounds() <= 1
    job.all_empty()
