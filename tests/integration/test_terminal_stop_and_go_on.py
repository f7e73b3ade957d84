"""Ctrl-Z stops the workers; fg and bg continue them."""

import pytest

from processes import alive, state, until

pytest.importorskip("pexpect")
WAIT = "ready()\nawait_note('go')\n"  # not a shell: during its vfork it cannot be stopped


@pytest.mark.parametrize("command", ["fg", "bg"])
def test_a_job_of_a_shell(at_a_shell, python_worker, seen, command):
    shell = at_a_shell("--nproc-per-node=2", "--no-python", python_worker(WAIT))
    workers = shell.ready(2)
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.expect("prompt> ")
    until(lambda: all(state(pid) == "T" for pid in workers), 5, "the workers' stop")
    shell.line(command)
    until(lambda: not any(state(pid) == "T" for pid in workers), 5, "the workers' going on")
    assert all(map(alive, workers))
    (seen / "go").touch()
    if command == "bg":
        shell.line("wait %1")
    shell.line("echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"


def test_again_and_again(at_a_shell, python_worker):
    shell = at_a_shell("--nproc-per-node=2", "--no-python", python_worker(WAIT))
    workers = shell.ready(2)
    for _ in range(3):
        shell.send("\x1a")
        shell.expect("Stopped")
        until(lambda: all(state(pid) == "T" for pid in workers), 5, "the workers' stop")
        shell.line("fg")
        until(lambda: not any(state(pid) == "T" for pid in workers), 5, "the workers' going on")
    shell.tty.sendintr()
    shell.expect("prompt> ")
    shell.line("echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "130" and not any(map(alive, workers))


@pytest.mark.parametrize("view", ["--ui=live", "--ui=plain"])
def test_no_line_of_a_flood_is_printed_over_the_prompt(at_a_shell, shell_worker, view):
    flood = 'ready\nexec yes "of rank $RANK"\n'
    shell = at_a_shell(view, "--nproc-per-node=2", "--no-python", shell_worker(flood), then="")
    workers = shell.ready(2)
    for _ in range(3):
        shell.expect("of rank 1")
        shell.send("\x1a")
        shell.expect("Stopped")
        shell.expect("prompt> ")
        until(lambda: all(state(pid) == "T" for pid in workers), 5, "the workers' stop")
        shell.line("sleep 0.3; echo o''ver")
        assert "of rank" not in shell.expect(r"(?s)(.*)over\r\n[^\n]*prompt> ")[1]
        shell.line("fg")
    shell.expect("of rank 1")  # the job, and not the shell, gets Ctrl-C
    shell.tty.sendintr()
    shell.expect("prompt> ", 60)  # behind what the flood has left in queues


def test_a_stopped_job_can_be_killed(at_a_shell, shell_worker):
    shell = at_a_shell("--nproc-per-node=2", "--no-python", shell_worker('ready\nexec sleep "$TEST_RUN_MARK"\n'))
    workers = shell.ready(2)
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.line("kill -KILL %1")
    until(lambda: not any(map(alive, workers)), 5, "the workers' end")


def test_without_a_shell_no_process_stops(terminal, python_worker, seen):
    alone = terminal("--ui=plain", "--nproc-per-node=2", "--no-python", python_worker("ready()\nawait_note('go')\nprint('went on')\n"))
    workers = alone.ready(2)
    alone.send("\x1a")
    alone.expect(r"\^Z")  # the terminal may discard output at this key
    until(lambda: alone.tty.isalive() and not any(state(pid) == "T" for pid in workers), 5, "the workers' going on")
    (seen / "go").touch()
    assert alone.finish()[0] == 0 and alone.text.count("went on") == 2
