"""Under nohup a hangup stays ignored, by dlaunch and so by the job."""

import signal

import pytest

pytestmark = pytest.mark.needs("nohup")


def test_a_hangup_does_nothing(job):
    run = job("ready\nawait go\n", prefix=("nohup",))
    pids = run.ready(2)
    run.signal(signal.SIGHUP)
    run.go()
    assert run.wait(10).rc == 0 and len(pids) == 2


def test_other_signals_are_heard(job):
    run = job('ready\nexec sleep "$TEST_RUN_MARK"\n', prefix=("nohup",))
    run.ready(2)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
