"""SIGKILL of the agent: the guard writes the report and the last event, and names the killed process."""

import json
import os
import signal

import pytest

from processes import until
from running import kill


def killed(start, tmp_path, *options):
    run = start(*options, "--report=report.json", "--event-log=events", "--no-python", "sh", "-c", 'echo up; exec sleep "$TEST_RUN_MARK"')
    until(lambda: "up" in run.out(), 10, "a worker")
    agent = run.agent()
    kill(agent, signal.SIGKILL)
    result = run.wait(10)
    report = json.loads((tmp_path / "report.json").read_text())
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    return agent, result, report, events


@pytest.mark.parametrize("where", [[], ["--launcher=fork", "--hosts=a"]], ids=["one node", "a front end"])
def test_the_report_and_the_last_event(start, tmp_path, where):
    agent, result, report, events = killed(start, tmp_path, *where)
    assert result.rc == 137
    reason = f"the {'front end' if where else 'agent'} (pid {agent}) was killed by signal 9"
    assert report["exit_status"] == 137 and report["reason"].startswith(reason)
    assert report["summary"] == report["reason"] and report["failures"] == [] and report["program"] == "sh"
    assert 0 < report["seconds"] < 60 and "--event-log=events" in report["command_line"]
    assert [event["event"] for event in events].count("job_ended") == 1
    assert events[-1]["event"] == "job_ended" and events[-1]["status"] == 137 and events[-1]["job"] == report["job_id"]
    assert events[-1]["reason"] == report["reason"]


def test_the_rounds_so_far(start, tmp_path):
    run = start("--max-restarts=2", "--report=report.json", "--no-python", "sh", "-c",
                '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 3; echo up; exec sleep "$TEST_RUN_MARK"')
    until(lambda: "up" in run.out(), 20, "the second round")
    kill(run.agent(), signal.SIGKILL)
    assert run.wait(10).rc == 137
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["rounds"], report["restarts"], report["max_restarts"]) == (2, 1, 2)


def test_standard_output(start):
    run = start("--report=-", "--no-python", "sh", "-c", 'echo up; exec sleep "$TEST_RUN_MARK"')
    until(lambda: "up" in run.out(), 10, "a worker")
    kill(run.agent(), signal.SIGKILL)
    result = run.wait(10)
    assert json.loads(result.out[result.out.index("{"):])["exit_status"] == 137


def test_a_report_in_a_pipe_without_a_reader_holds_nothing_up(start, tmp_path):
    os.mkfifo(tmp_path / "report.json")
    run = start("--report=report.json", "--no-python", "sh", "-c", 'echo up; exec sleep "$TEST_RUN_MARK"')
    until(lambda: "up" in run.out(), 10, "a worker")
    kill(run.agent(), signal.SIGKILL)
    assert run.wait(10).rc == 137
