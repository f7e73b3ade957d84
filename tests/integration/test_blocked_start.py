"""A signal ends dlaunch while it blocks during its start, here on a configuration file."""

import os
import signal

import pytest

from processes import until

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


@pytest.fixture
def blocked(start, tmp_path):
    """blocked(prefix=()) -> Running, with an agent that reads a pipe without a writer."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    ours = os.open(path, os.O_RDWR)

    def has_it_open(pid):
        return any(file.is_symlink() and os.readlink(file) == str(path) for file in (pid / "fd").iterdir())

    def blocked_(**more):
        run = start(f"--config={path}", "--no-python", "true", **more)
        agent = type(tmp_path)(f"/proc/{run.agent()}")
        until(lambda: has_it_open(agent), 10, "the agent's opening of the pipe")
        return run

    yield blocked_
    os.close(ours)


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_signal_ends_it(blocked, number):
    run = blocked()
    run.signal(number)
    result = run.wait(5)
    assert (result.rc, result.err) == (128 + number, f"dlaunch: {number.name} received, ending\n")
    run.nothing_left()


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_signal_to_the_agent_alone_ends_it_too(blocked, number):
    run = blocked()
    os.kill(run.agent(), number)
    result = run.wait(5)
    assert (result.rc, result.err) == (128 + number, f"dlaunch: {number.name} received, ending\n")


def test_a_signal_ends_it_in_the_background_of_a_script(blocked):
    run = blocked(prefix=("sh", "-c", "trap '' INT; exec \"$@\"", "sh"))
    os.kill(run.agent(), signal.SIGINT)
    assert run.wait(5).rc == 128 + signal.SIGINT


def test_nohup_protects_it_from_sighup(blocked):
    run = blocked(prefix=("nohup",))
    run.signal(signal.SIGHUP)
    os.kill(run.agent(), signal.SIGHUP)
    run.signal(signal.SIGTERM)
    assert run.wait(5).rc == 128 + signal.SIGTERM


def test_the_agent_does_not_outlive_its_guard(blocked):
    run = blocked()
    run.signal(signal.SIGKILL)
    run.wait(5)
    run.nothing_left(2)
