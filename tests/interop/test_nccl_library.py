"""The real libnccl.so.2 without a GPU, with a fake CUDA driver library."""

import ctypes
import re
from pathlib import Path

import pytest

import torch_python
from conftest import BINARY

FAKE = BINARY.parent.parent / "lib/libfake_nccl.so"
EXAMPLE = BINARY.parent / "examples/cuda_all_reduce"


def has_driver():
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


@pytest.fixture(scope="module")
def library():
    """Path of libnccl: the loader's, or that of a Python environment with a current torch."""
    if not FAKE.exists() or not EXAMPLE.exists():
        pytest.skip("the examples, or the library that plays CUDA, are not built")
    try:
        ctypes.CDLL("libnccl.so.2")
        return "libnccl.so.2"
    except OSError as error:
        missing = str(error)
    for found in Path(torch_python.current()).parent.parent.glob("lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"):
        return str(found)
    pytest.skip(f"{missing}, and the current torch brings none")


def test_dlaunch_accepts_its_functions_and_version(dlaunch, library):
    result = dlaunch("backends", env={"DLAUNCH_CUDA_LIBRARY": str(FAKE), "DLAUNCH_NCCL_LIBRARY": library})
    assert result.rc == 0 and "\nnccl  can be used here\n" in result.out


def test_its_error_text_reaches_the_program(dlaunch, library):
    """Rank 0 creates a unique id, all ranks receive it, and then NCCL's CUDA runtime finds no driver."""
    if has_driver():
        pytest.skip("here is a real driver; tests/gpu/run is for such machines")
    variables = {"DLAUNCH_CUDA_LIBRARY": str(FAKE), "DLAUNCH_NCCL_LIBRARY": library, "NCCL_SOCKET_IFNAME": "lo"}
    result = dlaunch("--nproc-per-node=2", EXAMPLE, env=variables, timeout=60)
    assert result.rc == 1 and result.out == ""
    assert re.search(r"no result: connect in group world: .*unhandled cuda error .*Cuda failure", result.err), result.err
