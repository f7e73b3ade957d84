"""Signals to dlaunch reach every worker; some of them end the job."""

import signal
import time

import pytest

from processes import until

CATCH = r"""
def caught(number):
    note(f"{rank}.{signal.Signals(number).name}")
    if number not in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
        os._exit(0)
awaited = {signal.Signals["SIG" + name] for name in "TERM INT HUP QUIT USR1 USR2 CONT".split()}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)  # pause() would miss a signal that arrives just before it
ready()
while True:
    caught(signal.sigwait(awaited))
"""


@pytest.fixture
def catching(start, python_worker):
    """catching(*options) -> Running with two workers that note every signal."""

    def catching_(*options, **more):
        run = start("--nproc-per-node=2", *options, "--no-python", python_worker(CATCH), **more)
        run.ready(2)
        return run

    return catching_


def both(seen, name):
    return lambda: all((seen / f"{rank}.{name}").exists() for rank in range(2))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_termination_signal_ends_the_job(catching, seen, name):
    run = catching()
    run.signal(signal.Signals[name])
    result = run.wait(10)
    assert result.rc == 128 + signal.Signals[name] and both(seen, name)() and name in result.err
    assert "Traceback" not in result.err
    # dlaunch sends SIGCONT after it, because the worker may be stopped.
    assert {note.name.split(".")[1] for note in seen.glob("*.SIG*")} <= {name, "SIGCONT"}


def test_user_signals_do_not_end_the_job(catching, seen):
    run = catching()
    for name in ("SIGUSR1", "SIGUSR2", "SIGCONT"):
        run.signal(signal.Signals[name])
        until(both(seen, name), 5, f"the arrival of {name}")
    assert not run.ended()
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143


def test_a_job_that_begins_starts_all_workers(start, tmp_path):
    """A start may wait for its log folder when SIGCONT comes, from a user or as a shell's fg."""
    for count in range(10):
        folder = tmp_path / f"ran{count}"
        folder.mkdir()
        run = start("--nproc-per-node=4", "-r3", f"--log-dir={tmp_path}/logs", "--no-python", "sh", "-c", f": > {folder}/$RANK")
        end = time.monotonic() + 15
        while not run.ended() and time.monotonic() < end:
            run.signal(signal.SIGCONT)
            time.sleep(0.0003)
        assert run.wait(5).rc == 0 and len(list(folder.iterdir())) == 4, run.err()


def test_the_list_can_be_chosen(catching, seen):
    run = catching("--signals-to-handle=SIGTERM,SIGUSR1")
    run.signal(signal.SIGUSR1)
    until(both(seen, "SIGUSR1"), 10, "the arrival of SIGUSR1")
    run.signal(signal.SIGTERM)  # the job is ending: this one ends the grace
    assert run.wait(10).rc == 128 + signal.SIGUSR1


def test_a_workers_children_get_it_too(job, seen):
    run = job(
        'sh -c \'touch "$SEEN/child.$RANK"; exec sleep "$TEST_RUN_MARK"\' &\n' 'await "child.$RANK"\nready\nwait\n'
    )
    run.ready(2)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
    run.nothing_left()


def test_a_forwarded_signal_spends_no_restart(job, seen):
    run = job('note "$DLAUNCH_ROUND.$RANK.begun"\nready\nexec sleep "$TEST_RUN_MARK"\n', "--max-restarts=3")
    run.ready(2)
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143 and not list(seen.glob("1.*.begun"))


TWICE = """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
ready()
for _ in range(2):
    signal.sigwait({signal.SIGUSR1})
"""


def test_each_of_two_signals_waits_for_slurms_copy(start, python_worker):
    run = start("--nproc-per-node=1", "--no-python", python_worker(TWICE), env={"SLURM_JOB_ID": "7"})
    run.ready(1)
    run.signal(signal.SIGUSR1)
    run.signal_again(signal.SIGUSR1)
    assert run.wait(10).rc == 0
