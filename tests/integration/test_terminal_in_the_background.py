"""Who may read from the terminal when the shell has it, and after fg."""

import pytest

pytest.importorskip("pexpect")


def test_a_lone_worker_takes_nothing_from_the_shell(at_a_shell, shell_worker):
    shell = at_a_shell("--no-python", shell_worker("ready\nexec cat\n"), then="&")
    shell.ready(1)
    for n in range(6):
        shell.line(f"echo answer$(({n} + 1))")
        shell.expect(f"answer{n + 1}\r")
    shell.line("wait; echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"


def test_a_copied_stdin_goes_on_after_fg(at_a_shell, shell_worker):
    shell = at_a_shell("--nproc-per-node=2", "--stdin=all", "--no-python",
                       shell_worker('ready\nread -r a\necho "$RANK first $a"\nread -r b\necho "$RANK then $b"\n'))
    shell.ready(2)
    shell.line("one")
    shell.expect("[01] first one\r")
    shell.expect("[01] first one\r")
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.expect("prompt> ")
    shell.line("fg")
    shell.expect("fg\r")
    shell.line("two")
    shell.expect("[01] then two\r")
    shell.expect("[01] then two\r")
    shell.expect("prompt> ")


def test_modes_of_the_terminal_come_back(at_a_shell, shell_worker):
    shell = at_a_shell("--nproc-per-node=2", "--stdin=0", "--timeout=1", "--no-python",
                       shell_worker('ready\n[ $RANK = 0 ] && stty raw -echo\nexec sleep "$TEST_RUN_MARK"\n'))
    shell.expect("prompt> ")
    shell.line("stty -a")
    shell.expect(r"\nisig icanon")
