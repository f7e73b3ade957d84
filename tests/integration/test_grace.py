"""--grace bounds every stop: by a signal and after a failure."""

import signal

import pytest

from processes import until
from workers import IDLE, STUBBORN


@pytest.mark.parametrize("option", ["--grace=0.4", "--shutdown-timeout=1", "--shutdown-timeout=0"])
def test_a_worker_that_ignores_the_signal_is_killed(job, option):
    run = job(STUBBORN, option)
    run.ready(2)
    run.signal(signal.SIGTERM)
    result = run.wait(8)
    assert result.rc == 143 and "killing 2 workers" in result.err
    run.nothing_left()


def test_after_a_failure_too(job):
    result = job("if [ $RANK = 1 ]; then await 0.ready; exit 6; fi\n" + STUBBORN, "--grace=0.4").wait(8)
    assert result.rc == 6 and 0.4 <= result.seconds < 6


@pytest.mark.parametrize(("options", "status"), [([], 6), (["--max-restarts=1"], 130)])
def test_an_interrupt_after_the_failure_that_ends_the_job_does_not_change_its_status(job, seen, options, status):
    fails = "if [ $RANK = 1 ]; then await 0.ready; exit 6; fi\ntrap 'note caught' TERM\ntrap '' INT\nready\n"
    run = job(fails + IDLE, *options)
    until((seen / "caught").exists, 10, "the stop after the failure")
    run.signal(signal.SIGINT)
    until(lambda: "SIGINT received" in run.err(), 10, "the interrupt's arrival")
    run.signal_again(signal.SIGINT)
    assert run.wait(8).rc == status


def test_a_worker_that_handles_the_signal_gets_the_grace(job, seen):
    run = job("trap 'sleep 0.7; note saved.$RANK; exit 0' TERM\nready\nwhile :; do sleep 0.01; done\n", "--grace=20")
    run.ready(2)
    run.signal(signal.SIGTERM)
    result = run.wait(10)
    assert result.rc == 143 and len(list(seen.glob("saved.*"))) == 2 and result.seconds < 6


def test_a_variable_of_torchrun(job):
    run = job(STUBBORN, env={"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "0"})
    run.ready(2)
    run.signal(signal.SIGTERM)
    assert run.wait(8).rc == 143


def test_another_stop_signal(job, seen):
    run = job(
        "if [ $RANK = 1 ]; then await 0.ready; exit 6; fi\ntrap 'note interrupted; exit 0' INT\nready\n" + IDLE,
        "--stop-signal=INT",
    )
    assert run.wait(8).rc == 6 and (seen / "interrupted").exists()
