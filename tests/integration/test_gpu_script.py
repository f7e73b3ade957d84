"""tests/gpu/run without a GPU reports that nothing was tested, and its exit status is not 0."""

import os
import subprocess

from conftest import BINARY, ROOT


def test_without_a_gpu_nothing_passes():
    environment = {**os.environ, "DLAUNCH_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}
    command = [ROOT / "tests/gpu/run", BINARY.parent.parent]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 77 and done.stderr == ""
    assert done.stdout.startswith("tests/gpu/run: nothing was tested: nccl: /nowhere/libcuda.so.1: cannot open")
    assert done.stdout.count("\n") == 1
