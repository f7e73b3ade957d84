"""Schedulers, systemd and pkill signal all of dlaunch's processes: one request, not two."""

import contextlib
import os
import signal
import time

import pytest

from processes import comm, parent, until

# A note's mv is a process that the signals of the test, or of dlaunch, may end: the shell itself creates these files.
SAVES = "trap ': > $SEEN/asked.$RANK' TERM\ntrap ': > $SEEN/on.$RANK' CONT\nready\nuntil [ -e $SEEN/go ]; do sleep 0.01; done\n: > $SEEN/saved.$RANK\n"


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


@pytest.mark.parametrize("first", ["relay", "guard"])
def test_a_front_ends_host_takes_the_signal_to_its_relay_and_to_its_guard_for_one(start, shell_worker, seen, first):
    """The agent, which a scheduler signals too, may be the last one that it reaches."""
    run = start("--launcher=fork", "--hosts=na", "--grace=600", "--no-python", shell_worker(SAVES))
    run.ready(1)
    guard = next(parent(pid) for pid in run.living() if comm(pid) == "dlaunch-agent" and parent(pid) != run.pid)
    both = [parent(guard), guard]
    os.kill(both.pop(first == "guard"), signal.SIGTERM)
    until(lambda: len([*seen.glob("asked.?"), *seen.glob("on.?")]) == 2, 10, "the first half, and what continues all")
    next(seen.glob("on.?")).unlink()
    time.sleep(0.03)  # with a SIGCONT, two signals within 15 ms are one request anyway
    os.kill(both[0], signal.SIGTERM)
    os.kill(guard, signal.SIGCONT)
    until(lambda: list(seen.glob("on.?")), 10, "what was sent behind the second half")
    run.go()
    result = run.wait(10)
    assert result.rc == 143 and list(seen.glob("saved.*")) and "again" not in result.err, result.err


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
