"""dlaunch as process 1 of a container: handles signals and reaps orphans."""

import os
import signal

import pytest

from processes import all_pids, children, parent, state, until

pytestmark = [pytest.mark.root, pytest.mark.needs("unshare")]
PREFIX = ("unshare", "-pf", "--mount-proc")


@pytest.fixture
def init(job):
    """init(text) -> (Running of unshare, dlaunch's pid outside the container), once two workers are ready."""

    def init_(text):
        run = job(text, prefix=PREFIX)
        run.ready(2)
        return run, children(run.pid)[0]

    return init_


def test_a_job(init):
    run, _ = init("ready\nawait go\n")
    run.go()
    assert run.wait(10).rc == 0


def test_a_signal_ends_it(init):
    run, pid = init('ready\nexec sleep "$TEST_RUN_MARK"\n')
    os.kill(pid, signal.SIGTERM)
    assert run.wait(10).rc == 143
    run.nothing_left()


def test_orphans_are_collected(init):
    run, pid = init("for n in $(seq 30); do ( true & ); done\nready\nawait go\n")
    until(
        lambda: not [p for p in all_pids() if state(p) == "Z" and parent(p) in (pid, *children(pid))],
        5,
        "the collection of every orphan",
    )
    run.go()
    assert run.wait(10).rc == 0
