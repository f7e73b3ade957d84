"""Reading from the terminal in the background, and after fg."""

import os
import signal

import pytest

from processes import parent, state, until

pytest.importorskip("pexpect")


def test_a_lone_worker_takes_nothing_from_the_shell(at_a_shell, shell_worker):
    shell = at_a_shell("--no-python", shell_worker("ready\nexec cat\n"), then="&")
    shell.ready(1)
    for n in range(6):
        shell.line(f"echo answer$(({n} + 1))")
        shell.expect(f"answer{n + 1}\r")
    shell.line("wait; echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"


READ_TWICE = 'ready\nread -r a\necho "$RANK first $a"\nread -r b\necho "$RANK then $b"\n'


def both_stop(workers):
    return lambda: all(state(pid) == "T" for pid in workers)


def both_continue(workers):
    return lambda: not any(state(pid) == "T" for pid in workers)


@pytest.mark.parametrize("agent", ["running", "frozen"])
def test_a_copied_stdin_goes_on_after_fg(at_a_shell, shell_worker, agent):
    shell = at_a_shell("--nproc-per-node=2", "--stdin=all", "--no-python", shell_worker(READ_TWICE))
    workers = shell.ready(2)
    shell.line("one")
    shell.expect("[01] first one\r")
    shell.expect("[01] first one\r")
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.expect("prompt> ")
    if agent == "frozen":  # input at the shell does not reach it; SIGCONT wakes it
        os.kill(parent(workers[0]), signal.SIGSTOP)
    shell.line("fg")
    until(both_continue(workers), 10, "the workers' going on")
    shell.line("two")
    shell.expect("[01] then two\r")
    shell.expect("[01] then two\r")
    shell.expect("prompt> ")


@pytest.mark.parametrize("ranks", [[0], [0, 1]])
def test_a_background_reader_waits_for_fg(at_a_shell, shell_worker, ranks):
    mode = "--stdin=all" if len(ranks) == 2 else "--stdin=0"
    shell = at_a_shell("--nproc-per-node=2", mode, "--no-python", shell_worker(READ_TWICE), then="&")
    shell.expect("prompt> ")
    until(lambda: stopped_jobs(shell), 10, "the stop of the job")
    shell.line("fg")
    shell.expect("fg\r")
    shell.line("one")
    for _ in ranks:
        shell.expect("[01] first one\r")
    shell.line("two")
    for _ in ranks:
        shell.expect("[01] then two\r")
    shell.expect("prompt> ")


def stopped_jobs(shell):
    shell.line("jobs -s")
    shell.expect("jobs -s\r\n(.*?)prompt> ")
    return "Stopped" in shell.tty.match[1]


def test_a_worker_that_reads_after_fg_gets_the_terminal(at_a_shell, shell_worker, seen):
    shell = at_a_shell("--nproc-per-node=2", "--stdin=0", "--no-python",
                       shell_worker('ready\n[ $RANK = 0 ] || exit 0\nawait go\nread -r a\necho "got $a"\n'), then="&")
    shell.ready(2)
    shell.line("fg")
    shell.expect("fg\r")
    shell.line("one")
    (seen / "go").touch()
    shell.expect("got one\r")
    shell.expect("prompt> ")


def test_a_job_that_no_shell_can_call_back_reads_nothing(at_a_shell, shell_worker, seen):
    reader = shell_worker('[ $RANK = 0 ] || exit 0\nawait go\ncat\nnote read nothing\n')
    shell = at_a_shell("--nproc-per-node=2", "--stdin=0", "--no-python", reader, first="(", then="& )")
    shell.expect("prompt> ")
    (seen / "go").touch()
    shell.line("echo for the shell")
    shell.expect("[\\r\\n]for the shell\\r")
    until((seen / "read").exists, 10, "the end of the reader")


def test_modes_of_the_terminal_come_back(at_a_shell, shell_worker):
    shell = at_a_shell("--nproc-per-node=2", "--stdin=0", "--timeout=1", "--no-python",
                       shell_worker('ready\n[ $RANK = 0 ] && stty raw -echo\nexec sleep "$TEST_RUN_MARK"\n'))
    shell.expect("prompt> ")
    shell.line("stty -a")
    shell.expect(r"\nisig icanon")
