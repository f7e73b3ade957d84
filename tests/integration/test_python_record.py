"""The Python module's record: the report quotes the exception that ended a worker."""

import json
import subprocess
import sys

import pytest

from packages import USES_MODULE

SCRIPT = """
import os, sys, time
import dlaunch

def frobnicate():
    raise ValueError("banana \\u2603 42")

@dlaunch.record
def main(how, *, keyword):
    if os.environ["RANK"] == "1":
        frobnicate() if how == "raise" else sys.exit(17) if how == "exit" else os.abort()
    time.sleep(600)

main(sys.argv[1], keyword=1)
"""


@pytest.fixture
def recorded(dlaunch, script, tmp_path):
    def recorded_(how):
        result = dlaunch("-n", "2", "--grace=2", f"--report={tmp_path}/report.json", script("train.py", SCRIPT), how, env=USES_MODULE)
        return result, json.loads((tmp_path / "report.json").read_text())["failures"][0]

    return recorded_


def test_the_message_and_the_stack(recorded):
    result, failure = recorded("raise")
    assert result.rc == 1 and failure["rank"] == 1
    assert "ValueError: banana \u2603 42" in result.err and "frobnicate" in json.dumps(failure)


def test_an_exit_is_not_recorded(recorded):
    result, failure = recorded("exit")
    assert result.rc == 17 and "py_callstack" not in json.dumps(failure)


def test_a_fatal_signal_prints_the_stacks(recorded):
    result, failure = recorded("abort")
    assert result.rc == 134 and "Fatal Python error: Aborted" in result.err and "in main" in result.err


@pytest.mark.parametrize("path, said", [("", ""), ("/nowhere/error.json", "dlaunch: cannot write the error file /nowhere/error.json")])
def test_without_a_launcher_the_exception_is_raised_as_usual(path, said):
    program = "import dlaunch\n@dlaunch.record\ndef main(): raise KeyError('x')\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**USES_MODULE, "TORCHELASTIC_ERROR_FILE": path})
    assert done.returncode == 1 and done.stderr.endswith("KeyError: 'x'\n") and done.stderr.startswith(said)


def test_what_it_decorates_stays_what_it_is():
    program = "import dlaunch\n@dlaunch.record\ndef main(x, *, y=2):\n    'text'\n    return x + y\nprint(main(1, y=3), main.__name__, main.__doc__)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=USES_MODULE).stdout == "4 main text\n"
