"""--pty: each worker has a terminal for its output, so that C programs print each line at once."""

import sys

import pytest

ASKS = "import os, sys\nprint(sys.stdout.isatty(), sys.stderr.isatty(), *os.get_terminal_size(1))\n"


def test_both_streams_are_terminals_of_the_usual_size(dlaunch, script):
    result = dlaunch("--pty", "--nproc-per-node=2", script("asks.py", ASKS), env={"PYTHON_EXEC": sys.executable})
    assert (result.rc, result.out) == (0, "True True 80 24\n" * 2)
    assert dlaunch(script("asks.py", ASKS.replace(", *os.get_terminal_size(1)", "")), env={"PYTHON_EXEC": sys.executable}).out == "False False\n"


@pytest.mark.parametrize("workers", [1, 2])
def test_no_byte_is_added_or_lost(dlaunch, tmp_path, workers):
    """Much output, whose end is read after the worker's exit; in files as well."""
    words = ["--pty", "-t", "3", f"--log-dir={tmp_path}/logs", "--log-line-prefix-template=>", f"--nproc-per-node={workers}"]
    result = dlaunch(*words, "--no-python", "sh", "-c", "seq 200000; printf 'err\\r\\n\\000\\377' >&2")
    expected = "".join(f"{n}\n" for n in range(1, 200001))
    assert result.rc == 0
    for rank in range(workers):
        folder = tmp_path / "logs" / "latest" / "attempt_0" / str(rank)
        assert (folder / "stdout.log").read_text() == expected
        assert (folder / "stderr.log").read_bytes() == b"err\r\n\0\377"


def test_a_process_that_outlives_its_worker_holds_nothing_up(dlaunch):
    result = dlaunch("--pty", "--no-python", "sh", "-c", "setsid sleep 3 & echo word")
    assert (result.rc, result.out) == (0, "word\n") and result.seconds < 3


def test_the_size_follows_the_screen(terminal, python_worker, seen):
    pytest.importorskip("pexpect")
    worker = python_worker("told = []\nsignal.signal(signal.SIGWINCH, lambda *_: told.append(1))\nready()\n"
                           "while os.get_terminal_size(1).columns != 92 or not told: time.sleep(0.01)\nprint('wide')\n")
    tty = terminal("--pty", "--nproc-per-node=2", "--no-python", worker)
    tty.ready(2)
    tty.tty.setwinsize(30, 100)
    tty.expect("wide")
    assert tty.finish()[0] == 0


@pytest.mark.parametrize("words, is_terminal", [([], "True"), (["--ui=plain"], "False"), (["--pty=0"], "False"), (["-t", "3"], "False")], ids=str)
def test_it_is_the_default_in_the_live_view(terminal, python_worker, tmp_path, words, is_terminal):
    """The worker is a program of its own for dlaunch."""
    pytest.importorskip("pexpect")
    rc, text = terminal(*words, "--nproc-per-node=2", "--no-python", python_worker("print('tty', os.isatty(1))\n")).finish()
    assert rc == 0 and f"tty {is_terminal}" in text
