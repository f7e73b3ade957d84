"""The live view of several workers on a terminal: --ui=live, which is the default there."""

import os
import re
import signal

import pytest

from processes import children, until
from traced import traced, unread_signals

pytest.importorskip("pexpect")
ERASE = "\x1b[J"


def plain(text):
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_equal_lines_are_folded_and_say_whose_they_are(terminal, shell_worker):
    worker = shell_worker("ready; await 0.ready; await 1.ready; await 2.ready; echo together; echo mine is $RANK >&2\n")
    rc, text = terminal("--nproc-per-node=3", "--no-python", worker).finish()
    assert rc == 0 and plain(text).count("[0-2] together") == 1
    assert all(f"[{rank}] mine is {rank}" in plain(text) for rank in range(3))


def test_the_block_is_erased_at_the_end(terminal, shell_worker, seen):
    tty = terminal("--nproc-per-node=2", "--no-python", shell_worker("ready; printf '50%%' >&2; await go; printf '\\r   \\r' >&2\n"))
    tty.expect("0:0[0-9] . 2 of 2 workers alive")
    (seen / "go").touch()
    rc, text = tty.finish()
    assert rc == 0 and text.rstrip().endswith(ERASE)


def test_the_last_line_of_a_guard_is_below_the_block(terminal, shell_worker):
    tty = terminal("--nproc-per-node=2", "--no-python", shell_worker("ready; exec sleep 100\n"))
    tty.ready(2)
    tty.expect("2 of 2 workers alive")
    (agent,) = children(tty.pid)
    os.kill(agent, signal.SIGKILL)
    tty.expect("\r\n(\x1b[^\r\n]*)?dlaunch: the agent ")
    tty.finish()


def test_the_last_line_for_a_frozen_agent_is_below_the_block(terminal, shell_worker):
    tty = terminal("--nproc-per-node=2", "--no-python", shell_worker("ready; exec sleep 100\n"))
    tty.ready(2)
    tty.expect("2 of 2 workers alive")
    (agent,) = children(tty.pid)
    with traced(agent):
        os.kill(tty.pid, signal.SIGTERM)
        until(lambda: not unread_signals(tty.pid), 2, "the guard's reading of the first one")
        os.kill(tty.pid, signal.SIGTERM)
        tty.expect("\r\n(\x1b[^\r\n]*)?dlaunch: SIGTERM received, but the agent ")
    until(lambda: not os.path.exists(f"/proc/{agent}"), 5, "the agent's end")
    tty.finish()


def test_a_prefix_has_its_effect(terminal):
    rc, text = terminal("--log-line-prefix-template=${rank}> ", "--nproc-per-node=2", "--no-python", "echo", "word").finish()
    assert rc == 0 and "0-1> word" in plain(text) and "no effect" not in text


def test_no_escape_of_a_worker_reaches_the_terminal(terminal):
    rc, text = terminal("--nproc-per-node=2", "--no-python", "printf", r"\033[2Jclear\033[?25l\033]0;title\007\n").finish()
    assert rc == 0 and "[0-1] clear" in plain(text) and not re.search(r"\x1b\[2J|\?25l|title", text)


def test_ctrl_z_leaves_no_block_and_fg_brings_it_back(at_a_shell, python_worker, seen):
    shell = at_a_shell("--nproc-per-node=2", "--no-python", python_worker("ready()\nprint('up', flush=True)\nawait_note('go')\n"))
    shell.expect("2 of 2 workers alive")
    shell.send("\x1a")
    shell.expect(re.escape(ERASE))
    shell.expect("Stopped")
    shell.expect("prompt> ")
    shell.line("fg")
    shell.expect("2 of 2 workers alive")
    (seen / "go").touch()
    shell.expect("prompt> ")
    shell.line("exit")
    shell.finish()


def test_ctrl_z_shows_all_lines_before_the_shell_prompts(at_a_shell, python_worker, seen):
    """The lines of one rank wait for the same lines of the other, which prints none."""
    shell = at_a_shell("--nproc-per-node=2", "--no-python", python_worker("""
ready()
for count in range(10**6 if rank == 0 else 0):
    print(f"<{count}>", flush=True)
    note("printed", count)
await_note("go")
"""))
    shell.expect("2 of 2 workers alive")
    shell.send("\x1a")
    shell.expect("Stopped")
    printed = (seen / "printed").read_text()
    assert f"<{printed}>" in shell.text.split("Stopped")[0]


def test_a_job_in_the_background_shows_no_block(at_a_shell, python_worker, seen):
    shell = at_a_shell("--nproc-per-node=2", "--no-python", python_worker("ready()\nprint('up', flush=True)\nawait_note('go')\ntime.sleep(0.5)\n"), then="&")
    shell.expect("up")
    (seen / "go").touch()
    shell.line("wait")
    shell.expect("Done|prompt> ")
    shell.line("exit")
    _, text = shell.finish()
    assert "workers alive" not in text


@pytest.mark.parametrize("words, env", [(["--ui", "plain"], {}), ([], {"DLAUNCH_UI": "plain"}), ([], {"TERM": "dumb"})], ids=str)
def test_the_plain_view(terminal, words, env):
    rc, text = terminal(*words, "--nproc-per-node=2", "--no-python", "printf", r"word\033[1m\n", env=env).finish()
    assert rc == 0 and text.replace("\r", "") == "word\x1b[1m\n" * 2


def test_a_lone_worker_has_the_terminal_for_itself(terminal):
    rc, text = terminal("--no-python", "printf", r"word\033[2K\r").finish()
    assert rc == 0 and text == "word\x1b[2K\r"


def test_an_unknown_view_is_refused(dlaunch):
    result = dlaunch("--ui=fancy", "true")
    assert result.rc == 2 and "live" in result.first_line and "plain" in result.first_line


def test_prefixes_without_files(dlaunch, tmp_path):
    result = dlaunch("--prefix", "--nproc-per-node=2", "--no-python", "sh", "-c", "echo word; echo err >&2")
    assert sorted(result.out.splitlines()) == ["[0] word", "[1] word"]
    assert sorted(result.err.splitlines()) == ["[0] err", "[1] err"]
    result = dlaunch("--prefix", "--log-line-prefix-template=${local_rank}> ", "--no-python", "echo", "word")
    assert result.out == "0> word\n"


NESTED = """
import sys
def bar(position, text):
    for part in ("\\n" * position, "\\r" + text, "\\x1b[A" * position):
        sys.stderr.write(part)
        sys.stderr.flush()
ready()
for step in range(100):
    bar(0, f"outer {step}")
    bar(1, f"inner {step}")
    time.sleep(0.01)
await_note("go")
sys.stderr.write("\\n")
"""


def test_nested_bars_stay_in_the_block(terminal, python_worker, seen):
    tty = terminal("--nproc-per-node=2", python_worker(NESTED), env={"NO_COLOR": "1"})
    tty.expect(r"\[0-1\] outer 99[^\n]*\n\[0-1\] inner 99[^\n]*\n0:0")
    (seen / "go").touch()
    rc, text = tty.finish()
    assert rc == 0 and text.count("\r" + ERASE) <= 2
    assert re.search(re.escape(ERASE) + r"\[0-1\] outer 99\r*\n\[0-1\] inner 99\r*\n", text)
