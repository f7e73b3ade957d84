"""A worker that keeps detaching new sessions while it is being ended races against the sweep."""

import signal

import pytest

from bad_workers import SWEEPS
from processes import until
from running import kill

BREED = """trap '' TERM
ready
while :; do ( setsid sh -c 'sleep "$TEST_RUN_MARK" & sleep "$TEST_RUN_MARK"' & ); sleep 0.005; done
"""


@SWEEPS
@pytest.mark.parametrize("how", ["guard killed", "agent killed", "SIGTERM", "a worker dies"])
def test_nothing_is_left(job, how, extra_variables):
    run = job(BREED, "--grace=0.2", env=extra_variables)
    workers = run.ready(2)
    until(lambda: len(run.living()) > 40, 10, "forty processes")
    target = {"guard killed": run.pid, "agent killed": run.agent(), "a worker dies": workers[1]}.get(how, run.pid)
    kill(target, signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
    result = run.wait(10)
    run.nothing_left(3 if how == "guard killed" else 0)
    assert result.rc == {"guard killed": -signal.SIGKILL, "SIGTERM": 143}.get(how, 137)
