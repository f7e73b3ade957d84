"""SIGKILL of guard or agent at any moment, also during the start."""

import signal
import time

import pytest

from bad_workers import SWEEPS
from processes import children, until
from running import kill

MOMENTS_MS = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)
DAEMON = '( setsid sleep "$TEST_RUN_MARK" & )\nexec sleep "$TEST_RUN_MARK"\n'


@SWEEPS
@pytest.mark.parametrize("moment_ms", MOMENTS_MS)
def test_the_guard(job, moment_ms, extra_variables):
    run = job(DAEMON, workers=8, env=extra_variables)
    time.sleep(moment_ms / 1000)
    run.signal(signal.SIGKILL)
    assert run.wait(5).rc == -signal.SIGKILL
    run.nothing_left(3)


@SWEEPS
@pytest.mark.parametrize("moment_ms", MOMENTS_MS)
def test_the_agent(job, moment_ms, extra_variables):
    run = job(DAEMON, workers=8, env=extra_variables)
    agent, *_ = until(lambda: children(run.pid), 5, "the agent's start")
    time.sleep(moment_ms / 1000)
    kill(agent, signal.SIGKILL)
    assert run.wait(5).rc > 0
    run.nothing_left()


@SWEEPS
@pytest.mark.parametrize("moment_ms", MOMENTS_MS[1::2])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal(job, moment_ms, name, extra_variables):
    """Before the handlers are installed the signal's default action ends dlaunch; afterwards the end is orderly."""
    run = job(DAEMON, workers=8, env=extra_variables)
    time.sleep(moment_ms / 1000)
    run.signal(signal.Signals[name])
    assert run.wait(8).rc in (-signal.Signals[name], 128 + signal.Signals[name])
    run.nothing_left()
