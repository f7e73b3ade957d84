"""--start-method=fork: a process dies or stalls while workers are made, and the job goes on or ends as it does with
workers that execute their program."""

import json
import os
import signal

import pytest

from agent_socket import ask
from forked import first_message, lines, program, templates  # noqa: F401
from processes import state, until


def assert_each_end_follows_a_start(log):
    events = [json.loads(line) for line in log.read_text().splitlines()]
    stories = {}
    for event in events:
        if event["event"] in ("worker_started", "worker_ended"):
            stories.setdefault(event["rank"], []).append(event["event"])
    assert stories and all(story == ["worker_started", "worker_ended"] for story in stories.values()), stories


def test_a_worker_killed_before_it_is_reported(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", "--max-restarts=1", program, "worker-dies")
    assert result.rc == 0 and "was killed by SIGKILL" in result.err and "restart 1 of 1" in result.err, result.err
    assert len(lines(seen / "prepared")) == 1, "the template lives on"


@pytest.mark.parametrize("how", ["worker-dies", "between-dies"])
def test_without_a_restart_its_signal_is_the_end(dlaunch, program, how, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", f"--event-log={tmp_path}/events", program, how)
    assert result.rc == 128 + signal.SIGKILL and "was killed by SIGKILL" in first_message(result), result.err
    assert_each_end_follows_a_start(tmp_path / "events")


def test_the_intermediate_process_is_killed(dlaunch, program):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", "--max-restarts=1", program, "between-dies")
    assert result.rc == 0 and "restart 1 of 1" in result.err, result.err


def test_the_template_dies_while_it_makes_workers(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", "--max-restarts=1", program, "template-dies")
    assert result.rc == 0 and "was killed by SIGKILL at its fork point" in result.err, result.err
    assert len(lines(seen / "prepared")) == 2


def test_the_template_dies_and_no_restart_is_left(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", program, "template-dies")
    assert result.rc == 128 + signal.SIGKILL
    assert lines(seen / "prepared")[0][0] in first_message(result) and "at its fork point" in first_message(result)


def test_the_template_dies_just_before_a_restart(dlaunch, program, seen):
    for _ in range(10):
        result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=1", program, "kills-template")
        assert result.rc == 0, result.err
        assert len(lines(seen / "prepared")) == 2
        (seen / "prepared").unlink()


def test_a_template_of_an_earlier_round_costs_no_restart(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", "--max-restarts=1", program, "template-dies-later")
    assert result.rc == 0 and "fork point" not in result.err, result.err
    assert len(lines(seen / "prepared")) == 2 and not (seen / "again").exists()


def test_a_fork_that_fails_once(dlaunch, program):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", "--max-restarts=1", program, "no-process-once")
    assert result.rc == 0 and "temporarily unavailable" in first_message(result), result.err


def test_a_fork_that_always_fails(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", "--max-restarts=2", program, "no-process")
    assert result.rc == 126 and "fork: Resource temporarily unavailable" in result.err, result.err
    assert result.err.count("restarting all workers") == 2 and len(lines(seen / "prepared")) == 1


def stopped_template(run, seen):
    until((seen / "once").exists)
    (template,) = templates(seen)
    until(lambda: state(template) == "T")
    return template


def test_a_frozen_template_continues_after_sigcont(start, program, seen):
    run = start("--start-method=fork", "--nproc-per-node=3", program, "template-stops")
    template = stopped_template(run, seen)
    assert json.loads(ask(lines(seen / "socket")[0][0]))["state"] == "starting", "no process waits for the template"
    os.kill(template, signal.SIGCONT)
    assert run.wait().rc == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_the_template_is_frozen(start, program, seen, number):
    run = start("--start-method=fork", "--nproc-per-node=3", program, "template-stops")
    stopped_template(run, seen)
    run.signal(number)
    assert run.wait(10).rc == 128 + number
    run.nothing_left()


@pytest.mark.parametrize("process", ["guard", "agent"])
def test_dlaunch_is_killed_while_the_template_is_frozen(start, program, seen, process):
    run = start("--start-method=fork", "--nproc-per-node=3", program, "template-stops")
    stopped_template(run, seen)
    os.kill(run.pid if process == "guard" else run.agent(), signal.SIGKILL)
    run.wait()
    run.nothing_left(5)


def test_a_frozen_agent_continues_after_sigcont(start, program, seen):
    run = start("--start-method=fork", "--nproc-per-node=8", program, "agent-stops")
    until((seen / "once").exists)
    agent = run.agent()
    until(lambda: state(agent) == "T")
    os.kill(agent, signal.SIGCONT)
    assert run.wait().rc == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_it_makes_64_workers(start, program, seen, number, tmp_path):
    run = start("--start-method=fork", "--nproc-per-node=64", f"--event-log={tmp_path}/events", program, "waits")
    until((seen / "worker.0").exists)
    run.signal(number)
    assert run.wait(20).rc == 128 + number
    run.nothing_left()
    assert_each_end_follows_a_start(tmp_path / "events")


def test_64_workers(dlaunch, program):
    result = dlaunch("--start-method=fork", "--nproc-per-node=64", program)
    assert result.rc == 0 and len(set(result.out.splitlines())) == 65


def test_20_restarts(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=4", "--max-restarts=20", "--restart-backoff=0.01:0.01",
                     "--crash-loop=0", program, "fails-always")  # fmt: skip
    assert result.rc == 0, result.err
    assert len(lines(seen / "prepared")) == 1
    assert [int(line[0]) for line in lines(seen / "worker.0")][-1] == 20


def test_a_daemon_of_the_template_ends_with_the_job(start, program, seen):
    run = start("--start-method=fork", "--nproc-per-node=2", program, "daemon")
    assert run.wait().rc == 0
    run.nothing_left()
    assert (seen / "daemon").exists()
