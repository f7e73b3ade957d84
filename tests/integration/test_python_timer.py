"""The Python module's section and heartbeat: the launcher ends a worker that misses its time, and names the section."""

import json
import os
import socket
import subprocess
import sys

import pytest

from packages import USES_MODULE

WATCHED = USES_MODULE
UNREAD = "dlaunch: the agent does not read timers, section heartbeat is not watched\n"
THROUGH_FILE = {**USES_MODULE, "TORCHELASTIC_ENABLE_FILE_TIMER": "1"}


@pytest.fixture
def worker(dlaunch, script, tmp_path):
    """worker(text) -> (Result, the report's first failure) of two ranks, of which rank 1 runs the text."""

    def worker_(text, env=WATCHED):
        program = f"import datetime, os, time\nimport dlaunch\nif os.environ['RANK'] == '0': time.sleep(600)\n{text}\n"
        result = dlaunch("-n", "2", "--grace=1", f"--report={tmp_path}/report.json", script("train.py", program), env=env)
        return result, json.loads((tmp_path / "report.json").read_text())["failures"][0]

    return worker_


@pytest.mark.parametrize("time", ["0.3", "datetime.timedelta(milliseconds=300)"])
def test_a_section_that_takes_too_long(worker, time):
    result, failure = worker(f"with dlaunch.section('l\u00f6ad \"it\"', timeout={time}): time.sleep(600)")
    assert result.rc == 84 and failure["rank"] == 1 and 'l\u00f6ad "it"' in result.err, result.err


def test_a_section_through_the_file_of_torchs_timers(worker):
    result, _ = worker("assert os.environ['TORCHELASTIC_TIMER_FILE']\nwith dlaunch.section('step', 0.3): time.sleep(600)", THROUGH_FILE)
    assert result.rc == 84 and "step" in result.err, result.err


def test_a_section_of_a_forked_child(worker):
    """The child has a connection of its own; its end takes nothing from the parent's."""
    text = "dlaunch.heartbeat(60)\nif os.fork() == 0:\n    with dlaunch.section('child', 60): os._exit(0)\nos.wait()\ndlaunch.heartbeat(0.3)\ntime.sleep(600)"
    result, _ = worker(text)
    assert result.rc == 84 and "heartbeat" in result.first_line, result.err


def test_a_function_as_a_section(worker):
    result, _ = worker("@dlaunch.section('step', 0.3)\ndef step(): time.sleep(600)\nstep()")
    assert result.rc == 84 and "step" in result.err


def test_a_missed_heartbeat(worker):
    result, _ = worker("dlaunch.heartbeat(60)\ndlaunch.heartbeat(within=0.3)\ntime.sleep(600)")
    assert result.rc == 84 and "heartbeat" in result.err


@pytest.mark.parametrize("end", ["pass", "raise KeyError"])
def test_a_section_that_has_ended_is_forgotten(worker, end):
    text = f"try:\n    with dlaunch.section('early', 0.2): {end}\nexcept KeyError: pass\ndlaunch.heartbeat(0.6)\ntime.sleep(600)"
    result, _ = worker(text)
    assert result.rc == 84 and "heartbeat" in result.first_line and "early" not in result.first_line


def test_a_name_of_any_length(worker):
    result, _ = worker("with dlaunch.section('\u2603\\0\\udcff' * 10000, 60): pass\ndlaunch.heartbeat(0.3)\ntime.sleep(600)")
    assert result.rc == 84 and "heartbeat" in result.err


def test_without_a_launcher_nothing_is_watched():
    program = "import dlaunch\nwith dlaunch.section('s', 0): dlaunch.heartbeat(0)\nprint('done')"
    for path in ("", "/nowhere/fifo"):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**USES_MODULE, "TORCHELASTIC_TIMER_FILE": path})
        assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize("time", ["-1", "float('inf')", "float('nan')"])
def test_a_time_that_is_none(time):
    done = subprocess.run([sys.executable, "-c", f"import dlaunch\ndlaunch.heartbeat({time})"], capture_output=True, text=True, env=USES_MODULE)
    assert done.returncode == 1 and "ValueError: the time is" in done.stderr


def test_a_full_pipe_costs_a_second_and_a_line(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(end, b"x" * 4096)
    done = subprocess.run([sys.executable, "-c", "import dlaunch; dlaunch.heartbeat()"], capture_output=True, text=True,
                          env={**USES_MODULE, "TORCHELASTIC_TIMER_FILE": str(fifo)}, timeout=30)
    os.close(end)
    assert done.stderr == UNREAD


def test_an_agent_that_does_not_read_costs_a_second_and_a_line(tmp_path):
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "socket"))
        agent.listen()
        program = "import dlaunch\nfor _ in range(400): dlaunch.heartbeat()"  # more than a connection holds
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path,
                              env={**USES_MODULE, "DLAUNCH_AGENT_SOCKET": "socket"}, timeout=60)
        assert done.returncode == 0 and done.stderr and set(done.stderr.splitlines(True)) == {UNREAD}
