"""SIGKILL of the guard, the process that the user started: the agent ends all workers at once."""

import signal

import pytest

from bad_workers import ALL_KINDS, SWEEPS, begin


@SWEEPS
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_is_left(job, kind, extra_variables):
    run = begin(job, kind, "stay", extra_variables, "--grace=600")
    run.signal(signal.SIGKILL)
    assert run.wait(5).rc == -signal.SIGKILL
    run.nothing_left(3)
