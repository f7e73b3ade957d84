"""Every worker exits with 0; processes that they left behind are ended too."""

import pytest

from bad_workers import ALL_KINDS, SWEEPS, begin


@SWEEPS
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_is_left(job, kind, extra_variables):
    run = begin(job, kind, "end", extra_variables)
    run.go()
    result = run.wait(10)
    run.nothing_left()
    assert result.rc == 0 and result.seconds < 8
