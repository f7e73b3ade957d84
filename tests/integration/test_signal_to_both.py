"""Schedulers, systemd and pkill signal all of dlaunch's processes: one request, not two."""

import contextlib
import os
import signal
import time

import pytest

from processes import until

SAVES = "trap 'note asked.$RANK' TERM\ntrap 'note on.$RANK' CONT\nready\nuntil [ -e $SEEN/go ]; do sleep 0.01; done\nnote saved.$RANK\n"


@pytest.mark.parametrize("first", ["guard", "agent"])
def test_workers_have_their_grace(job, seen, first):
    run = job(SAVES, "--grace=600")
    run.ready(2)
    both = [run.pid, run.agent()]
    os.kill(both.pop(first == "agent"), signal.SIGTERM)
    until(lambda: len([*seen.glob("asked.?"), *seen.glob("on.?")]) == 4, 10, "the first half, and what continues all")
    for path in seen.glob("on.?"):
        path.unlink()
    os.kill(both[0], signal.SIGTERM)
    os.kill(both[0], signal.SIGCONT)  # delivered after it
    until(lambda: len(list(seen.glob("on.?"))) == 2, 10, "what was sent behind the second half")
    run.go()
    result = run.wait(10)
    assert result.rc == 143 and len(list(seen.glob("saved.*"))) == 2 and "again" not in result.err


@pytest.mark.parametrize("options", [["--nproc-per-node=2"], ["--launcher=fork", "--hosts=na,nb"]], ids=["node", "front end"])
def test_twice_to_every_process_as_slurm_does_at_a_time_limit(start, shell_worker, seen, options):
    run = start(*options, "--grace=600", "--no-python", shell_worker(SAVES))
    run.ready(2)
    for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGTERM):
        for pid in run.living():
            with contextlib.suppress(ProcessLookupError):  # a short child of a worker
                os.kill(pid, number)
        time.sleep(0.005)
    until(lambda: len(list(seen.glob("asked.?"))) == 2, 10, "the signal's arrival")
    run.go()
    result = run.wait(10)
    assert result.rc == 143 and len(list(seen.glob("saved.*"))) == 2 and "killing" not in result.err, result.err
