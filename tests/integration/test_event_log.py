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


@pytest.mark.parametrize("by_option", [True, False])
def test_a_front_end_writes_the_events_of_its_hosts(dlaunch, tmp_path, by_option):
    path = str(tmp_path / "events")
    words = ["--launcher=fork", "--hosts=a,b", "--no-python", "sh", "-c", "exit $((3 * RANK))"]
    options, env = ([f"--event-log={path}"], {}) if by_option else ([], {"DLAUNCH_EVENT_LOG": path})
    assert dlaunch(*options, *words, env=env).rc == 3
    lines = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert lines[0]["event"] == "job_started" and lines[0]["hosts"] == 2
    assert lines[-1]["event"] == "job_ended" and lines[-1]["status"] == 3
    for host in "ab":
        story = [line["event"] for line in lines[1:-1] if line["host"] == host]
        assert story in (["host_connected", "host_started", "host_ended"], ["host_connected", "host_started"]), lines
    assert [line["event"] for line in lines].count("host_ended") >= 1


def test_a_front_end_writes_which_hosts_fail(start, fake_ssh, tmp_path):
    fake_ssh.behave("nb", "refuse")
    words = ["--hosts=na,nb", "--nnodes=1:2", "--no-python", "true"]
    result = start(f"--event-log={tmp_path}/events", "--rdzv-conf=last_call_timeout=20", *words, env=fake_ssh.env).wait(30)
    assert result.rc == 0, result.err
    lines = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    failed = [line for line in lines if line["event"] == "host_failed"]
    assert [line["host"] for line in failed] == ["nb"] and "ssh exited with 1" in failed[0]["reason"]
    assert lines[-1]["event"] == "job_ended" and lines[-1]["status"] == 0


@pytest.mark.parametrize("where", [[], ["--launcher=fork", "--hosts=a"]], ids=["one node", "a front end"])
def test_the_last_event_has_the_reason_of_the_report(dlaunch, tmp_path, where):
    files = [f"--event-log={tmp_path}/events", f"--report={tmp_path}/report"]
    result = dlaunch(*where, "--timeout=0.3", *files, "--no-python", "sleep", "60")
    report = json.loads((tmp_path / "report").read_text())
    last = json.loads((tmp_path / "events").read_text().splitlines()[-1])
    assert (last["event"], last["status"]) == ("job_ended", result.rc) and result.rc != 0
    assert last["reason"] == report["reason"] and "0.3" in last["reason"]


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
