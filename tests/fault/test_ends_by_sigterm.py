"""SIGTERM to dlaunch."""

import signal

import pytest

from bad_workers import ALL_KINDS, SWEEPS, begin, signal_until_noticed


@SWEEPS
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_is_left(job, kind, extra_variables):
    run = begin(job, kind, "stay", extra_variables)
    signal_until_noticed(run, signal.SIGTERM, False)
    result = run.wait(10)
    run.nothing_left()
    assert result.rc == 143
