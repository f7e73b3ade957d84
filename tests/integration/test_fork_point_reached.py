"""A program that does not reach dlaunch::fork_point(), or cannot be forked there, fails like a worker. The report names the
place, and the remedy if the program never calls fork_point()."""

import signal

import pytest

from forked import first_message, lines, program, templates  # noqa: F401
from processes import alive, state, until


@pytest.mark.parametrize("how, status, words", [
    ("ends", 3, "exited with 3 before its fork point"),
    ("throws", 1, "exited with 1 before its fork point"),
    ("crashes", 128 + signal.SIGABRT, "was killed by SIGABRT"),
])  # fmt: skip
def test_a_failure_of_the_template_is_reported_as_its_own(dlaunch, program, seen, how, status, words):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=1", program, how)
    assert result.rc == status and len(lines(seen / "prepared")) == 2, result.err
    messages = [line for line in result.err.splitlines() if line.startswith("dlaunch: rank 0 (")]
    assert messages and all(words in line and lines(seen / "prepared")[at][0] in line for at, line in enumerate(messages)), result.err
    assert "warned once" in result.err, "the console has shown the stderr tail"


def test_an_exception_of_the_template_is_in_the_report(dlaunch, program):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", program, "throws")
    assert "std::runtime_error: no such table" in result.err


def test_a_temporary_failure_spends_one_restart(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=1", program, "ends-once")
    assert result.rc == 0 and len(lines(seen / "prepared")) == 2
    assert lines(seen / "worker.0")[0][0] == "1", "a restart was spent"


def test_a_program_without_a_fork_point(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=3", program, "ends-well")
    assert result.rc == 126 and len(lines(seen / "prepared")) == 1, "another try would end alike"
    assert "could not be executed: it ended with 0 before dlaunch::fork_point()" in first_message(result)
    assert "call it where workers shall begin, or use --start-method=spawn" in result.err


def test_a_slow_program_is_reported_meanwhile(start, program):
    run = start("--start-method=fork", "--nproc-per-node=2", program, "stays")
    until(lambda: "has not reached dlaunch::fork_point()" in run.err(), 30, "the hint")
    assert "--start-method=spawn" in run.err()
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143


def test_threads(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=3", program, "threads")
    assert result.rc == 126 and "cannot be forked: it has 2 threads" in first_message(result), result.err
    assert "start them later" in result.err and "written once" in result.out
    assert len(lines(seen / "prepared")) == 1


def test_threads_that_have_ended(dlaunch, program):
    assert dlaunch("--start-method=fork", "--nproc-per-node=2", program, "joined").rc == 0


def test_a_subreaper(dlaunch, program):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=3", program, "subreaper")
    assert result.rc == 126 and "it is a child subreaper" in result.err, result.err


def test_a_program_that_closes_all_descriptors(dlaunch, program):
    assert dlaunch("--start-method=fork", "--nproc-per-node=2", program, "closes").rc == 0


@pytest.mark.needs("prlimit")
@pytest.mark.parametrize("how, status, words", [
    ("no-descriptors", 1, "exited with 1 before its fork point"),
    ("few-descriptors", 126, "set up the fork: Too many open files"),
])  # fmt: skip
def test_a_program_that_leaves_no_descriptors(dlaunch, program, how, status, words):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", program, how, prefix=("prlimit", "--nofile=256:256"))
    assert result.rc == status and words in first_message(result) and "Too many open files" in result.err, result.err


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_before_the_fork_point(start, program, seen, number, status):
    run = start("--start-method=fork", "--nproc-per-node=2", program, "stays")
    templates(seen)
    run.signal(number)
    assert run.wait(10).rc == status
    run.nothing_left()


def test_it_has_the_grace_too(start, program, seen):
    run = start("--start-method=fork", "--nproc-per-node=2", program, "stops-well")
    until((seen / "traps").exists)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143 and (seen / "caught").exists()


def test_ctrl_z_stops_it_too(at_a_shell, program, seen):
    pytest.importorskip("pexpect")
    shell = at_a_shell("--start-method=fork", program, "stays")
    (template,) = templates(seen)
    shell.send("\x1a")
    shell.expect("Stopped")
    until(lambda: state(template) == "T", 5, "its stop")
    shell.line("fg")
    until(lambda: state(template) != "T", 5, "its going on")
    shell.tty.sendintr()
    shell.expect("prompt> ")
    until(lambda: not alive(template))


def test_it_is_killed_after_the_grace(start, program, seen):
    run = start("--start-method=fork", "--grace=0.1", program, "deaf")
    until((seen / "deaf").exists)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
    run.nothing_left()
