"""Ctrl-C at a terminal: each worker gets one SIGINT; one summary, status 130, no process remains."""

import time

import pytest

from processes import alive

pytest.importorskip("pexpect")

ONCE = r"""
count = 0
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
ready()
while signal.sigtimedwait([signal.SIGINT], 0.2 if count else 60):
    count += 1
note(f"{rank}.interrupts", count)
"""


def test_once_and_cleanly(terminal, python_worker, seen):
    tty = terminal("--nproc-per-node=2", "--no-python", python_worker(ONCE))
    tty.ready(2)
    tty.tty.sendintr()
    rc, text = tty.finish()
    assert rc == 130 and [(seen / f"{rank}.interrupts").read_text() for rank in range(2)] == ["1", "1"]
    assert (
        1 <= len([line for line in text.splitlines() if line.replace("^C", "").startswith("dlaunch:")]) <= 2
        and "Traceback" not in text
    )


def test_twice_is_at_once(terminal, shell_worker):
    tty = terminal(
        "--grace=600",
        "--nproc-per-node=2",
        "--no-python",
        shell_worker("trap '' INT TERM\nready\nwhile :; do sleep 0.05; done\n"),
    )
    tty.ready(2)
    tty.tty.sendintr()
    tty.expect("SIGINT")
    time.sleep(0.03)  # dlaunch takes two signals within 15 ms for one request
    tty.tty.sendintr()
    assert tty.finish(5)[0] == 130


def test_quit(terminal, shell_worker):
    tty = terminal("--no-python", shell_worker('ready\nexec sleep "$TEST_RUN_MARK"\n'))
    tty.ready(1)
    tty.send("\x1c")
    assert tty.finish()[0] == 131


def test_in_a_pipeline(at_a_shell, shell_worker):
    """The reader of dlaunch's output gets SIGINT too, and exits before dlaunch."""
    shell = at_a_shell(
        "--nproc-per-node=2", "--no-python", shell_worker('ready\nexec sleep "$TEST_RUN_MARK"\n'), then="| cat"
    )
    workers = shell.ready(2)
    shell.tty.sendintr()
    shell.expect("prompt> ")
    shell.line("echo status=${PIPESTATUS[0]}")
    assert shell.expect(r"status=(\d+)\r")[1] == "130" and not any(map(alive, workers))


def test_in_the_background(at_a_shell, shell_worker):
    shell = at_a_shell("--no-python", shell_worker("ready\nawait go\necho over\n"), then="&")
    shell.ready(1)
    shell.expect("prompt> ")
    shell.tty.sendintr()
    shell.expect("prompt> ")
    shell.folder.joinpath("go").touch()
    shell.line("wait %1; echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"
