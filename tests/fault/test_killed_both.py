"""Both processes are killed, one right after the other."""

import signal

import pytest

from running import kill

STAY = 'ready\nexec sleep "$TEST_RUN_MARK"\n'


@pytest.mark.parametrize("first", ["guard", "agent"])
def test_the_plain_workers_go_with_them(job, first):
    """For plain workers the kernel's own net is enough; what they detached cannot be promised here."""
    run = job(STAY, workers=4)
    run.ready(4)
    pair = [run.pid, run.agent()]
    for pid in pair if first == "guard" else pair[::-1]:
        kill(pid, signal.SIGKILL)
    run.wait(5)
    run.nothing_left(3)
