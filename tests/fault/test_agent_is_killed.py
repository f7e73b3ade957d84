"""SIGKILL of the agent: the guard ends all workers at once, and dlaunch does not end with 0."""

import signal

import pytest

from bad_workers import ALL_KINDS, SWEEPS, begin
from running import kill


@SWEEPS
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_is_left(job, kind, extra_variables):
    run = begin(job, kind, "stay", extra_variables, "--grace=600")
    kill(run.agent(), signal.SIGKILL)
    result = run.wait(5)
    run.nothing_left()
    assert result.rc > 0 and "dlaunch:" in result.err
