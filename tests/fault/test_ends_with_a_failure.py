"""One worker fails; the other, and all processes that both left behind, are stopped."""

import pytest

from bad_workers import ALL_KINDS, SWEEPS, begin


@SWEEPS
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_is_left(job, kind, extra_variables):
    run = begin(job, kind, "fail", extra_variables)
    run.go()
    result = run.wait(10)
    run.nothing_left()
    assert result.rc == 3 and result.seconds < 8 and "rank 1" in result.err
