"""The training example, killed and restarted, ends with the same parameters as an undisturbed run; it reports why its
state cannot be written."""
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


@pytest.fixture
def digits(tmp_path):
    """A folder with files in MNIST's format, small enough for epochs of a fraction of a second."""
    for part, count in ("train", 1500), ("t10k", 100):
        labels = bytes(number % 10 for number in range(count))
        images = b"".join(random.Random(label).randbytes(28 * 28) for label in labels)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(bytes(16) + images)
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(bytes(8) + labels)
    return tmp_path


def parameters(text):
    return sorted(re.findall(r"^Rank (\d): parameters (\d+)$", text, re.MULTILINE))


def test_a_killed_run_ends_with_the_same_parameters(start, dlaunch, program, digits, tmp_path):
    undisturbed = parameters(dlaunch("--nproc-per-node=2", program, digits, timeout=120).out)
    assert [rank for rank, _ in undisturbed] == ["0", "1"]
    assert undisturbed[0][1] == undisturbed[1][1], "replicas differ"

    run = start("--nproc-per-node=2", "--max-restarts=1", program, digits, env={"CHECKPOINT": tmp_path / "state"})
    epoch, rank = random.randint(1, 6), random.choice("01")
    until(lambda: f"Rank {rank}, epoch {epoch}:" in run.out(), 60, f"epoch {epoch}")
    worker = next(pid for pid in run.living() if environment(pid).get("RANK") == rank)
    os.kill(worker, signal.SIGKILL)
    result = run.wait(120)
    assert result.rc == 0, result.err
    assert f"rank {rank} (" in result.err and "SIGKILL" in result.err
    assert parameters(result.out) == undisturbed


@pytest.mark.parametrize("state", [b"", b"nonsense", bytes(5000), b"3 " + b"17 " * 625 + b"\n" + bytes(100_000)], ids=["empty", "words", "zeros", "cut off"])
def test_an_invalid_checkpoint_is_refused(dlaunch, program, digits, tmp_path, state):
    (tmp_path / "state").write_bytes(state)
    result = dlaunch("--nproc-per-node=2", program, digits, env={"CHECKPOINT": tmp_path / "state"})
    assert result.rc == 1 and "epoch" not in result.out
    assert f"{tmp_path}/state cannot be read, or is no state of this program" in result.err
    assert (tmp_path / "state").read_bytes() == state, "it was overwritten"


def test_labels_beyond_the_digits_are_refused(dlaunch, program, digits):
    labels = digits / "train-labels-idx1-ubyte"
    labels.write_bytes(labels.read_bytes()[:-1] + b"\xff")
    result = dlaunch("--nproc-per-node=2", program, digits)
    assert result.rc == 1 and "not all labels are from 0 to 9" in result.err


def test_a_full_disk_is_named(dlaunch, program, digits, tmp_path):
    state = tmp_path / "state"
    os.symlink("/dev/full", f"{state}.new")
    result = dlaunch("--nproc-per-node=2", program, digits, env={"CHECKPOINT": state})
    assert result.rc == 1
    assert f"cannot write {state}: No space left on device" in result.err
    assert not state.exists(), "half of a state was taken for one"
