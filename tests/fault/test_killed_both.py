"""Guard and agent are killed, one right after the other."""

import os
import signal

import pytest

from processes import until
from running import kill

STAY = 'ready\nexec sleep "$TEST_RUN_MARK"\n'


@pytest.mark.parametrize("first", ["guard", "agent"])
def test_the_plain_workers_are_killed_too(job, first):
    """The kernel ends the workers (PR_SET_PDEATHSIG); detached processes may remain."""
    run = job(STAY, workers=4)
    run.ready(4)
    pair = [run.pid, run.agent()]
    for pid in pair if first == "guard" else pair[::-1]:
        kill(pid, signal.SIGKILL)
    run.wait(5)
    run.nothing_left(3)


def test_a_later_run_removes_their_temporary_folders(job, tmpdir_of_job):
    run = job(STAY)
    run.ready(2)
    pair = (run.agent(), run.pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stop both first, so that neither cleans up for the other
        for pid in pair:
            kill(pid, number)
    run.wait(5)
    left = list(tmpdir_of_job.iterdir())
    assert left, "no process was left to remove them"
    for folder in left:
        os.utime(folder, (1, 1))
    later = job("await go\n", workers=1)
    until(lambda: not any(folder.exists() for folder in left), 10, "their end")
    assert later.living() and list(tmpdir_of_job.iterdir()), "those of the living stay"
    later.go()
    assert later.wait(10).rc == 0 and not list(tmpdir_of_job.iterdir())
