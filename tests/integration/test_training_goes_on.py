"""The training example, killed in the middle and restarted, ends with the very parameters of an undisturbed run."""
# ctest: timeout 600

import os
import random
import re
import signal

import pytest

from conftest import BINARY
from processes import environment, until

EXAMPLES = BINARY.parent / "examples"


@pytest.fixture
def program():
    path = EXAMPLES / "train_digits"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


def parameters(text):
    return sorted(re.findall(r"^Rank (\d): parameters (\d+)$", text, re.MULTILINE))


def test_killed_at_some_step(start, dlaunch, program, tmp_path):
    undisturbed = parameters(dlaunch("--nproc-per-node=2", program, timeout=250).out)
    assert [rank for rank, _ in undisturbed] == ["0", "1"]
    assert undisturbed[0][1] == undisturbed[1][1], "replicas differ"

    run = start("--nproc-per-node=2", "--max-restarts=1", program, env={"CHECKPOINT": tmp_path / "state"})
    epoch, rank = random.randint(1, 7), random.choice("01")
    until(lambda: f"Rank {rank}, epoch {epoch}:" in run.out(), 200, f"epoch {epoch}")
    victim = next(pid for pid in run.living() if environment(pid).get("RANK") == rank)
    os.kill(victim, signal.SIGKILL)
    result = run.wait(250)
    assert result.rc == 0, result.err
    assert parameters(result.out) == undisturbed
