"""SIGINT twice: workers that ignore the signal are killed without the grace."""

import signal

import pytest

from bad_workers import ALL_KINDS, SWEEPS, begin, signal_until_noticed


@SWEEPS
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_is_left(job, kind, extra_variables):
    run = begin(job, kind, "stay", extra_variables, "--grace=600")
    signal_until_noticed(run, signal.SIGINT, True)
    result = run.wait(8)
    run.nothing_left()
    assert result.rc == 130
