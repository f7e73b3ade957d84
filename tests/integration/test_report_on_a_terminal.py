"""The report fits the screen, and advises how a rank without standard input gets it."""

import json
import re
import sys

import pytest

pytest.importorskip("pexpect")
FAILS = "import os, time\nif os.environ['RANK'] == '1': raise ValueError('loss ' + 'x' * 600)\ntime.sleep(100)\n"


def report_of(text):
    return text[text.index("dlaunch: rank 1"):].splitlines()


@pytest.mark.parametrize("options", [[], ["-r", "3", "--log-dir=a/folder/with/a/long/name/below/another/one/of/the/same/kind"]], ids=str)
@pytest.mark.parametrize("columns", [60, 120])
def test_it_is_as_wide_as_the_screen(terminal, binary, script, tmp_path, options, columns):
    words = ["--nproc-per-node=3", *options, str(script("fails.py", FAILS))]
    command = f"cd '{tmp_path}'; exec {binary} " + " ".join(words)
    tty = terminal("-c", command, program="sh", env={"PYTHON_EXEC": sys.executable, "NO_COLOR": "1"}, columns=columns)
    rc, text = tty.finish()
    lines = report_of(text)
    assert rc == 1 and len(lines) <= 12 and all(len(line) < columns for line in lines), text
    assert ("in <module>" in "\n".join(lines)) == bool(options)


def test_its_first_line_is_highlighted(terminal):
    _, text = terminal("--nproc-per-node=2", "--no-python", "sh", "-c", "exit $RANK").finish()
    assert re.search(r"\x1b\[1;31mdlaunch: rank 1 .* exited with 1.*\x1b\[0m\n", text)


@pytest.mark.parametrize("ask, rank", [("input()", 1), ("breakpoint()", 0)])
def test_a_rank_that_wanted_to_read_is_told_how(dlaunch, script, ask, rank):
    asks = script("asks.py", f"import os, time\nif os.environ['RANK'] == '{rank}': {ask}\ntime.sleep(100)\n")
    result = dlaunch("--nproc-per-node=2", asks, env={"PYTHON_EXEC": sys.executable})
    assert result.rc == 1 and f"--stdin={rank} connects it to rank {rank}" in result.err
    result = dlaunch("--nproc-per-node=2", f"--stdin={rank}", asks, env={"PYTHON_EXEC": sys.executable})
    assert result.rc == 1 and "connects" not in result.err


def test_the_json_report_names_what_ran(dlaunch, tmp_path):
    dlaunch(f"--report={tmp_path}/r.json", "--no-python", "sh", "-c", "sleep 0.2; exit 3")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["command_line"][-3:] == ["sh", "-c", "sleep 0.2; exit 3"] and report["version"].startswith("0.")
    assert "T" in report["started"] < report["ended"]


@pytest.mark.parametrize("end", ["raise ValueError('quokka')", "os.abort()"])
def test_a_rank_that_writes_to_the_terminal_itself_has_no_empty_stderr(terminal, script, end):
    text = f"import os, time\nif os.environ['RANK'] == '0': {end}\ntime.sleep(100)\n"
    rc, text = terminal("--nproc-per-node=2", "--stdin=0", "--ui=plain", script("fails.py", text), env={"PYTHON_EXEC": sys.executable}).finish()
    assert rc != 0 and "dlaunch: rank 0" in text and "stderr is empty" not in text, text


BARS = """#!/bin/sh
printf 'step 1\\r' >&2
if [ "$RANK" = 1 ]; then sleep 0.5; printf '\\nValueError: quokka\\n' >&2; exit 3; fi
sleep 100
"""


@pytest.mark.parametrize("ui", ["live", "plain"])
@pytest.mark.parametrize("workers, times", [(4, 1), (24, 2)], ids=["few", "many"])
def test_it_repeats_a_message_that_later_lines_push_off_the_screen(terminal, script, ui, workers, times):
    """The last lines of the stopped ranks, which end in the middle of one, need a row each."""
    rc, text = terminal(f"--nproc-per-node={workers}", f"--ui={ui}", "--no-python", script("bars", BARS)).finish()
    assert rc == 3 and text.count("quokka") == times, text
