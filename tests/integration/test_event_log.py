"""--event-log: every state change as one JSON line."""

import json

import pytest

from workers import STAY


@pytest.fixture
def events(job, tmp_path):
    """events(text, *options) -> (Result, list of events)."""

    def events_(text, *options, **more):
        result = job(text, f"--event-log={tmp_path}/events", *options, **more).wait()
        return result, [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]

    return events_


def test_every_line_has_both_times_and_never_goes_back(events):
    _, lines = events("[ $DLAUNCH_ROUND = 1 ]\n", "--max-restarts=1", workers=4)
    clock = [line["monotonic"] for line in lines]
    assert len(lines) >= 10 and clock == sorted(clock)
    assert all(line["event"] and line["time"].endswith("Z") and line["job"] == lines[0]["job"] for line in lines)


def test_every_worker_starts_and_ends(events, seen):
    _, lines = events("ready\n", workers=3)
    for rank in range(3):
        story = [line for line in lines if line.get("rank") == rank]
        pid = int((seen / f"{rank}.ready").read_text())
        assert [line["event"] for line in story][0] == "worker_started" and [line["event"] for line in story][
            -1
        ] == "worker_ended"
        assert {line["pid"] for line in story if "pid" in line} == {pid}


def test_the_sequence_of_a_restart(events):
    result, lines = events("[ $DLAUNCH_ROUND = 1 ] || [ $RANK != 1 ]\n", "--max-restarts=1")
    assert result.rc == 0
    rounds = [line["round"] for line in lines if line["event"] == "worker_started"]
    assert rounds == sorted(rounds) and rounds.count(0) == 2 and rounds.count(1) == 2
    ends_of_first = [n for n, line in enumerate(lines) if line["event"] == "worker_ended" and line["round"] == 0]
    starts_of_second = [n for n, line in enumerate(lines) if line["event"] == "worker_started" and line["round"] == 1]
    assert len(ends_of_first) == 2 and max(ends_of_first) < min(starts_of_second)


def states(lines):
    return [line["state"] for line in lines if line["event"] == "group_state"]


def test_the_states_of_a_successful_group(events):
    assert states(events("ready\nawait 0.ready\nawait 1.ready\n")[1]) == ["starting", "running", "clearing", "idle"]


def test_the_states_of_a_failed_group(events):
    lines = events("ready\nawait 0.ready\nawait 1.ready\n[ $RANK = 0 ] || exit 3\n" + STAY)[1]
    assert [state for state in states(lines) if state != "running"] == ["starting", "stopping", "clearing", "idle"]


def test_a_second_job_appends(events, job, tmp_path):
    _, first = events("exit 0\n")
    _, both = events("exit 0\n")
    assert both[: len(first)] == first and both[0]["job"] != both[-1]["job"]


def test_a_full_disk_does_not_stop_the_job(dlaunch):
    result = dlaunch("--nproc-per-node=2", "--event-log=/dev/full", "--no-python", "true")
    assert result.rc == 0 and result.err.count("No space left") == 1
