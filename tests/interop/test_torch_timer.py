"""torch's file timer: a worker past its deadline is killed and reported as hung."""

import json

import pytest

from torch_python import PYTHONS

SCRIPT = """
import os, time
import torch.distributed.elastic.timer as timer
timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
with timer.expires(after=60):
    pass
if os.environ["RANK"] == "1":
    with timer.expires(after=0.5, scope="step"):
        time.sleep(600)
with timer.expires(after=60):
    time.sleep(600)
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_the_deadline_counts(dlaunch, script, tmp_path, python):
    env = {"PYTHON_EXEC": python(), "TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
    result = dlaunch(
        "--nproc-per-node=2",
        "--grace=1",
        f"--report={tmp_path}/report.json",
        script("train.py", SCRIPT),
        env=env,
        timeout=60,
    )
    cause = json.loads((tmp_path / "report.json").read_text())["failures"][0]
    assert result.rc == 84 and cause["rank"] == 1 and "rank 1" in result.err and "step" in result.err, result.err


def test_without_it_there_is_no_timer_file(dlaunch):
    assert dlaunch("--no-python", "sh", "-c", "echo ${TORCHELASTIC_TIMER_FILE-none}").out == "none\n"
