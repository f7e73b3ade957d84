"""The agent is stopped (SIGSTOP), as by a debugger or lack of memory, while other events happen."""

import os
import signal

import pytest

from bad_workers import SWEEPS
from processes import stop

DAEMON = '( setsid sleep "$TEST_RUN_MARK" & )\nready\nexec sleep "$TEST_RUN_MARK"\n'


@pytest.fixture
def frozen(job):
    """frozen(environment) -> a Running with a stopped agent."""

    def frozen_(extra_variables):
        run = job(DAEMON, env=extra_variables)
        run.ready(2)
        stop(run.agent())
        return run

    return frozen_


@SWEEPS
def test_the_guard_is_killed(frozen, extra_variables):
    run = frozen(extra_variables)
    run.signal(signal.SIGKILL)
    run.wait(5)
    run.nothing_left(5)


@SWEEPS
def test_the_frozen_agent_is_killed(frozen, extra_variables):
    run = frozen(extra_variables)
    os.kill(run.agent(), signal.SIGKILL)
    assert run.wait(5).rc > 0
    run.nothing_left()


def test_a_signal_to_the_guard_wakes_it(frozen):
    run = frozen({})
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
