"""Under nohup dlaunch and its workers keep ignoring SIGHUP."""

import os
import signal

import pytest

from processes import until

pytestmark = pytest.mark.needs("nohup")


def test_a_hangup_does_nothing(job):
    run = job("ready\nawait go\n", prefix=("nohup",))
    pids = run.ready(2)
    run.signal(signal.SIGHUP)
    run.go()
    assert run.wait(10).rc == 0 and len(pids) == 2


def test_other_signals_are_handled(job):
    run = job('ready\nexec sleep "$TEST_RUN_MARK"\n', prefix=("nohup",))
    run.ready(2)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143


def test_a_hangup_to_every_process_hides_no_other_signal(job):
    run = job("trap '' HUP\ntrap 'note usr1.$RANK yes' USR1\nready\nwhile :; do sleep 0.01; done\n", prefix=("nohup",))
    run.ready(2)
    agent = run.agent()
    os.kill(agent, signal.SIGHUP)
    os.kill(agent, signal.SIGUSR1)
    until(lambda: len(list(run.folder.glob("usr1.*"))) == 2, 10, "what came behind the hangup")
    os.kill(agent, signal.SIGTERM)
    assert run.wait(10).rc == 143
