"""The report quotes the error file of torch's @record."""

import json

import pytest

from torch_python import PYTHONS

SCRIPT = """
import os, sys, time
from torch.distributed.elastic.multiprocessing.errors import record
def frobnicate():
    raise ValueError("banana 42")
@record
def main():
    if os.environ["RANK"] == "1":
        frobnicate() if sys.argv[1] == "raise" else sys.exit(17)
    time.sleep(600)
main()
"""


@pytest.fixture(params=PYTHONS)
def recorded(request, dlaunch, script):
    """recorded("raise" or "exit", *options) -> Result of two ranks of SCRIPT."""
    env = {"PYTHON_EXEC": request.param()}
    return lambda how, *options: dlaunch(
        "--nproc-per-node=2", "--grace=2", *options, script("train.py", SCRIPT), how, env=env, timeout=60
    )


def test_type_message_and_function(recorded, tmp_path):
    result = recorded("raise", "-r", "3", f"--log-dir={tmp_path}/logs", f"--report={tmp_path}/report.json")
    assert (
        result.rc == 1
        and "rank 1" in result.err
        and "ValueError: banana 42" in result.err
        and "frobnicate" in result.err
    )
    assert "banana 42" in json.dumps(json.loads((tmp_path / "report.json").read_text())["failures"][0])


def test_a_plain_exit_writes_none(recorded):
    result = recorded("exit")
    assert result.rc == 17 and "rank 1" in result.err and "exited with 17" in result.err
