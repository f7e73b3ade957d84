"""At the time limit the report shows the last line of each rank, how old it is, and stacks where they cost nothing."""

import json
import re
import sys

import pytest

WAITS = "import os, time\nprint('step', 40 + int(os.environ['RANK']), flush=True)\ntime.sleep(600)\n"


@pytest.mark.parametrize("where", [["--nproc-per-node=2"], ["--launcher=fork", "--hosts=a,b"]], ids=["one node", "two hosts"])
def test_the_last_line_of_each_rank(dlaunch, script, tmp_path, where):
    result = dlaunch("--timeout=1500ms", "--report=report.json", *where, script("waits.py", WAITS))
    assert result.rc == 84
    for rank in range(2):
        age = re.search(rf"rank {rank}, (\d+(?:\.\d+)?) (ms|s) ago: step {40 + rank}\n", result.err)
        assert age and 0 < float(age[1]) * {"ms": 0.001, "s": 1}[age[2]] <= 1.5, result.err
    failures = json.loads((tmp_path / "report.json").read_text())["failures"]
    assert sorted(failure["last_line"] for failure in failures) == ["step 40", "step 41"]


def test_output_of_the_stop_is_no_last_line(dlaunch, script):
    text = "trap 'echo stopped; exit' TERM; echo at work; while :; do sleep 0.05; done"
    result = dlaunch("--timeout=1", "--nproc-per-node=2", "--no-python", "sh", "-c", text)
    assert "ago: at work" in result.err and "ago: stopped" not in result.err, result.err


@pytest.mark.parametrize("how, variables", [
    ("faulthandler.register(signal.SIGUSR1)", {}),
    ("", {"PYTHONFAULTHANDLER": "1"}),
])
def test_the_stacks_of_python(dlaunch, script, how, variables):
    text = f"import faulthandler, signal, time\ndef wait_here():\n    time.sleep(600)\n{how}\nprint('up', flush=True)\nwait_here()\n"
    result = dlaunch("--timeout=2", "--nproc-per-node=2", "-r", "3", "--log-dir=logs", script("hangs.py", text),
                     env={"PYTHON_EXEC": sys.executable, **variables})
    assert result.rc == 84 and "in wait_here" in result.err, result.err
    assert "ago: up\n" in result.err, "the stacks are no last lines"


def test_a_worker_that_handles_the_stop_signal_is_not_aborted(dlaunch, script):
    text = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit('saved'))\nprint('up', flush=True)\ntime.sleep(600)\n"
    result = dlaunch("--timeout=2", script("saves.py", text), env={"PYTHON_EXEC": sys.executable, "PYTHONFAULTHANDLER": "1"})
    assert result.rc == 84 and "saved" in result.err and "Fatal Python error" not in result.err
