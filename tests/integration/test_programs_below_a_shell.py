"""A worker that is a shell: its program, in the same process group, is asked to end once, and gets its grace."""

import signal
import sys
import time

import pytest

# Counts the signals in the second after the first one.
COUNTS = """
import os, signal, sys
both = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, both)
open(sys.argv[1] + "/0.ready", "w").write(str(os.getpid()))
came = [signal.Signals(signal.sigwait(both)).name]
while more := signal.sigtimedwait(both, 1): came.append(signal.Signals(more.si_signo).name)
open(sys.argv[1] + "/came", "w").write(" ".join(came))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_program_of_a_shell_is_told_once(start, script, seen, number):
    program = script("counts.py", COUNTS)
    run = start("--no-python", "sh", "-c", f"{sys.executable} -S {program} {seen}; echo finished")
    run.ready(1)
    time.sleep(0.05)  # the kernel tells the age of a process in steps of 10 ms
    run.signal(number)
    assert run.wait(10).rc == 128 + number
    assert (seen / "came").read_text() == signal.Signals(number).name
    run.nothing_left()


def test_a_background_process_of_a_shell_is_told_that_ignores_sigint(job, seen):
    run = job("sh -c 'trap \"echo > $SEEN/told; exit\" TERM; echo > $SEEN/begun; while :; do sleep 0.05; done' & "
              "until [ -e $SEEN/begun ]; do sleep 0.05; done; ready; wait", workers=1)
    run.ready(1)
    run.signal(signal.SIGINT)
    assert run.wait(10).rc == 130
    assert (seen / "told").exists()
    run.nothing_left()


def test_what_a_handler_starts_is_ended_without_the_grace(job):
    run = job("trap 'sleep 600 & exit 0' TERM; ready; while :; do sleep 0.05; done", "--grace=60", workers=1)
    run.ready(1)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
    run.nothing_left()
