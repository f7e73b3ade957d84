"""A job that SIGINT or SIGTERM has ended dies of that signal, so that a loop of a shell ends, too."""

import signal

import pytest

from workers import STAY

BOTH = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", BOTH)
@pytest.mark.parametrize("where", [[], ["--launcher=fork", "--hosts=a,b"]], ids=["one node", "two hosts"])
def test_the_process_dies_of_the_signal(start, shell_worker, number, where):
    run = start(*where, *([] if where else ["--nproc-per-node=2"]), "--no-python", shell_worker(STAY))
    run.ready(2)
    run.process.send_signal(number)
    assert run.wait(15).rc == 128 + number and run.process.returncode == -number
    run.nothing_left()


def test_in_a_job_of_slurm_it_is_an_exit_status(start, shell_worker):
    run = start("--nproc-per-node=2", "--no-python", shell_worker(STAY), env={"SLURM_JOB_ID": "7"})
    run.ready(2)
    run.process.send_signal(signal.SIGTERM)
    run.wait(15)
    assert run.process.returncode == 143


@pytest.mark.parametrize("number", BOTH)
def test_a_worker_that_dies_of_it_is_an_exit_status(start, number):
    run = start("--no-python", "sh", "-c", f"kill -{int(number)} $$")
    run.wait(15)
    assert run.process.returncode == 128 + number


def test_a_worker_with_the_status_of_a_signal_is_an_exit_status_too(start):
    run = start("--nproc-per-node=2", "--no-python", "sh", "-c", "exit 143")
    run.wait(15)
    assert run.process.returncode == 143


def test_ctrl_c_that_only_the_agent_receives(terminal, shell_worker):
    """The agent reads the terminal for its workers, so the terminal's signals go to it and not to the guard."""
    pytest.importorskip("pexpect")
    tty = terminal("--stdin=all", "--nproc-per-node=2", "--no-python", shell_worker(STAY))
    tty.ready(2)
    tty.tty.sendintr()
    assert tty.finish()[0] == 130 and tty.tty.signalstatus == signal.SIGINT
