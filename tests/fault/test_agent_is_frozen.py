"""The agent is stopped (SIGSTOP), as by a debugger or lack of memory, while other events happen."""

import os
import signal

import pytest

from bad_workers import SWEEPS
from processes import state, until

DAEMON = '( setsid sleep "$TEST_RUN_MARK" & )\nready\nexec sleep "$TEST_RUN_MARK"\n'


@pytest.fixture
def frozen(job):
    """frozen(environment) -> a Running whose agent is stopped."""

    def frozen_(surroundings):
        run = job(DAEMON, env=surroundings)
        run.ready(2)
        agent = run.agent()
        os.kill(agent, signal.SIGSTOP)
        until(lambda: state(agent) == "T", 5, "the stop")
        return run

    return frozen_


@SWEEPS
def test_the_guard_is_killed(frozen, surroundings_of):
    run = frozen(surroundings_of)
    run.signal(signal.SIGKILL)
    run.wait(5)
    run.nothing_left(5)


@SWEEPS
def test_the_agent_is_killed_in_its_sleep(frozen, surroundings_of):
    run = frozen(surroundings_of)
    os.kill(run.agent(), signal.SIGKILL)
    assert run.wait(5).rc > 0
    run.nothing_left()


def test_a_signal_to_the_guard_wakes_it(frozen):
    run = frozen({})
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
