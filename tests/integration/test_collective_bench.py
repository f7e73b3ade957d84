"""collective_bench: correct results for every collective and type, and a one-line error for invalid arguments."""

import subprocess

import pytest

from conftest import BINARY

PROGRAM = BINARY.parent / "examples" / "collective_bench"
OPS = ["all_reduce", "reduce", "broadcast", "gather", "scatter", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "barrier"]
TYPES = ["int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "bool"]

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the examples are not built")


@pytest.mark.parametrize("op", OPS)
def test_every_collective_is_right(dlaunch, op):
    kind = TYPES[OPS.index(op) % len(TYPES)]
    result = dlaunch("--nproc-per-node=3", PROGRAM, f"--op={op}", f"--dtype={kind}", "--bytes=96:60K", "--iterations=2", "--check", "--csv")
    assert result.rc == 0, result.err
    header, *rows = [line.split(",") for line in result.out.splitlines()]
    assert header == ["bytes", "us", "algorithm_gbps", "bus_gbps", "wrong"]
    assert [row[4] for row in rows] == ["0"] * (1 if op == "barrier" else 10)


@pytest.mark.parametrize("op", OPS)
def test_buffers_in_device_memory(dlaunch, op):
    fake = BINARY.parent.parent / "lib/libfake_nccl.so"
    if not fake.exists():
        pytest.skip("the library that plays NCCL is not built")
    kind = "float32" if op == "all_reduce" else "int32"
    result = dlaunch("--nproc-per-node=3", PROGRAM, f"--op={op}", f"--dtype={kind}", "--device=cuda", "--bytes=96:6K", "--iterations=2",
                     "--check", "--csv", env={"DLAUNCH_CUDA_LIBRARY": fake, "DLAUNCH_NCCL_LIBRARY": fake})
    assert result.rc == 0, result.err
    assert [line.split(",")[4] for line in result.out.splitlines()[1:]] == ["0"] * (1 if op == "barrier" else 7)


def test_device_memory_without_a_gpu(dlaunch):
    result = dlaunch("--nproc-per-node=2", PROGRAM, "--device=cuda", env={"DLAUNCH_CUDA_LIBRARY": "/nowhere/libcuda.so.1"})
    assert result.rc == 1 and "/nowhere/libcuda.so.1: cannot open shared object file" in result.err


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_right(dlaunch, kind):
    result = dlaunch("--nproc-per-node=2", PROGRAM, "--dtype", kind, "--bytes", "8:64K", "--iterations", "2", "--check", "--csv")
    assert result.rc == 0, result.err
    assert {line.split(",")[4] for line in result.out.splitlines()[1:]} == {"0"}


def test_the_table_names_its_operation_and_type(dlaunch):
    result = dlaunch("--nproc-per-node=2", PROGRAM, "--bytes=8", "--backend=shm", "--iterations=3")
    header, row = result.out.splitlines()
    assert header.split()[:7] == ["bytes", "us", "alg", "GB/s", "bus", "GB/s", "wrong"]
    assert header.endswith("all_reduce of float32, shm, 2 ranks")
    assert row.split()[0] == "8" and row.split()[-1] == "-", "nothing was checked"


def test_no_size_is_shown_twice(dlaunch):
    result = dlaunch("--nproc-per-node=2", PROGRAM, "--bytes=1:32", "--iterations=1", "--csv")
    assert [row.split(",")[0] for row in result.out.splitlines()[1:]] == ["4", "8", "16", "32"], result.err


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_needs_no_launcher(word):
    result = subprocess.run([PROGRAM, word], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.startswith("usage: collective_bench [--op=OP]")


@pytest.mark.parametrize("word", ["--op=sum", "--dtype=float8", "--bytes=0", "--bytes=64:8", "--bytes=8X", "--iterations=-1",
                                  "--backend=mpi", "--device=tpu", "--nonsense", "--op"])
def test_invalid_arguments_are_one_line(word):
    result = subprocess.run([PROGRAM, word], capture_output=True, text=True, timeout=30)
    assert result.returncode == 2
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert result.stderr.startswith("collective_bench: ") and word.split("=")[0] in result.stderr
