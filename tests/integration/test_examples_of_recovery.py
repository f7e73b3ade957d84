"""Examples of time-outs, losses and stops: what they print, on each CPU backend."""

import re
import signal

import pytest

from conftest import BINARY
from processes import until

EXAMPLES = BINARY.parent / "examples"


@pytest.fixture(params=["shm", "tcp", "gloo"])
def on(request, dlaunch):
    """on(n, name, *args) runs an example with n ranks on the backend."""
    if request.param == "gloo" and not (BINARY.parent.parent / "lib/libdlaunch-gloo.so").exists():
        pytest.skip("built without Gloo")

    def on_(n, name, *args):
        if not (EXAMPLES / name).exists():
            pytest.skip(f"{EXAMPLES / name} is not built")
        result = dlaunch(f"--nproc-per-node={n}", EXAMPLES / name, *args, env={"DLAUNCH_BACKEND": request.param})
        assert result.rc == 0, result.err
        return result.out.splitlines()

    return on_


@pytest.mark.parametrize("n", [3, 4])
def test_survive_a_loss(on, n):
    expected = [f"rank {r}: lost rank {n - 1}, {n - 1} go on, sum {(n - 1) * (n - 2) // 2}" for r in range(n - 1)]
    assert sorted(on(n, "survive_a_loss")) == expected


@pytest.mark.parametrize("n", [2, 4])
def test_who_is_late(on, n):
    assert on(n, "who_is_late") == [f"late: {n - 1}"]


def test_halo_exchange(on):
    """The same field, however many ranks share it; 47 cells cannot be shared equally."""
    sums = {f"{float(re.fullmatch(r'sum (.*)', *on(n, 'halo_exchange', 47, 20))[1]):.8e}" for n in (1, 2, 3, 4)}
    assert len(sums) == 1


def test_data_and_tensor_parallel(on):
    """The same losses, however many ranks share the data."""
    losses = [[float(re.fullmatch(r"loss (.*)", line)[1]) for line in on(n, "data_and_tensor_parallel")] for n in (2, 4, 6)]
    for one, two, three in zip(*losses, strict=True):
        assert f"{one:.4g}" == f"{two:.4g}" == f"{three:.4g}"
    assert len(losses[0]) >= 10 and losses[0] == sorted(losses[0], reverse=True) and losses[0][-1] < losses[0][0] / 2


def test_checkpoint_on_stop_writes_the_step_it_has_reached(start, tmp_path):
    program, file = EXAMPLES / "checkpoint_on_stop", tmp_path / "checkpoint"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    run = start("--nproc-per-node=2", program, file)
    until(lambda: "step 0" in run.out())
    run.signal(signal.SIGTERM)
    result = run.wait()
    assert result.rc == 128 + signal.SIGTERM
    assert result.out.splitlines() == ["step 0", f"step {int(file.read_text())}"]


def test_checkpoint_on_stop_begins_where_the_file_says(on, tmp_path):
    file = tmp_path / "checkpoint"
    assert on(2, "checkpoint_on_stop", file, 5) == ["step 0", "step 5"]
    file.write_text("3\n")
    assert on(2, "checkpoint_on_stop", file, 5) == ["step 3", "step 5"]
