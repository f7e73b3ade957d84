"""SIGKILL of guard or agent during restarts."""

import signal
import time

import pytest

from bad_workers import SWEEPS
from processes import until
from running import kill

CRASH = """( setsid sleep "$TEST_RUN_MARK" & )
note "round.$DLAUNCH_ROUND"
[ $RANK = 0 ] && exit 1
exec sleep "$TEST_RUN_MARK"
"""


@SWEEPS
@pytest.mark.parametrize("process", ["guard", "agent"])
@pytest.mark.parametrize("moment_ms", [0, 4, 9, 17])
def test_nothing_is_left(job, seen, process, moment_ms, extra_variables):
    run = job(
        CRASH, "--max-restarts=1000", "--crash-loop=0", "--restart-backoff=0.001:0.001", workers=3, env=extra_variables
    )
    until(lambda: (seen / "round.2").exists(), 10, "the third round")
    time.sleep(moment_ms / 1000)
    assert not run.ended()
    kill(run.pid if process == "guard" else run.agent(), signal.SIGKILL)
    run.wait(5)
    run.nothing_left(3 if process == "guard" else 0)
