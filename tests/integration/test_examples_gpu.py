"""The cuda_* examples: output with a fake CUDA library, and the error without a GPU."""

import pytest

from conftest import BINARY

EXAMPLES = BINARY.parent / "examples"
FAKE = BINARY.parent.parent / "lib/libfake_nccl.so"
PRINTED = {
    "cuda_all_reduce": [f"rank {r}: [[3, 3], [3, 3]]" for r in range(3)],
    "cuda_all_gather": [f"rank {r}: [[0], [1], [2]]" for r in range(3)],
    "cuda_reduce_scatter": [f"rank {r}: [{3 * 10**r}]" for r in range(3)],
}


def libraries(cuda, nccl):
    return {"DLAUNCH_CUDA_LIBRARY": str(cuda), "DLAUNCH_NCCL_LIBRARY": str(nccl)}


@pytest.fixture(autouse=True)
def built():
    if not FAKE.exists() or not (EXAMPLES / "cuda_broadcast").exists():
        pytest.skip("the examples, or the library that plays NCCL, are not built")


@pytest.mark.parametrize("backend", ["auto", "nccl"])
@pytest.mark.parametrize("name", PRINTED)
def test_prints(dlaunch, name, backend):
    result = dlaunch("--nproc-per-node=3", EXAMPLES / name, env={"DLAUNCH_BACKEND": backend, **libraries(FAKE, FAKE)})
    assert result.rc == 0, result.err
    assert sorted(result.out.splitlines()) == PRINTED[name]


def test_broadcast(dlaunch):
    result = dlaunch("--nproc-per-node=3", EXAMPLES / "cuda_broadcast", env=libraries(FAKE, FAKE))
    assert result.rc == 0, result.err
    lines = dict(line.split(": ") for line in result.out.splitlines())
    assert lines["before rank 1"] == lines["before rank 2"] == "[[0, 0], [0, 0]]" != lines["before rank 0"]
    assert {lines[f"after rank {r}"] for r in range(3)} == {lines["before rank 0"]}


@pytest.mark.parametrize("name", ["cuda_broadcast", "cuda_stencil", *PRINTED])
def test_a_missing_gpu_is_reported_in_one_line(dlaunch, name):
    result = dlaunch("--nproc-per-node=2", EXAMPLES / name, env=libraries("/nowhere/libcuda.so.1", FAKE))
    assert result.rc == 1 and result.out == ""
    assert "no result: nccl: /nowhere/libcuda.so.1: cannot open shared object file" in result.err


def test_a_missing_nccl_is_reported_in_one_line(dlaunch):
    result = dlaunch("--nproc-per-node=2", EXAMPLES / "cuda_all_gather", env=libraries(FAKE, "/nowhere/libnccl.so.2"))
    assert result.rc == 1 and result.out == ""
    assert "/nowhere/libnccl.so.2: cannot open shared object file" in result.err


def test_the_other_programs_run_on_nccl_too(dlaunch):
    """Host memory of collectives is copied to the device and back."""
    environment = {"DLAUNCH_BACKEND": "nccl", **libraries(FAKE, FAKE)}
    result = dlaunch("--nproc-per-node=3", EXAMPLES / "reduce_ops", env=environment)
    expected = dlaunch("--nproc-per-node=3", EXAMPLES / "reduce_ops", env={"DLAUNCH_BACKEND": "shm"})
    assert result.rc == 0 and sorted(result.out.splitlines()) == sorted(expected.out.splitlines())
