"""dlaunch backends: prints the worker library's capability matrix."""
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def printed(dlaunch):
    result = dlaunch("backends", env={"DLAUNCH_NCCL_LIBRARY": "/nowhere/libnccl.so.2", "DLAUNCH_CUDA_LIBRARY": "/nowhere/libcuda.so.1"})
    assert result.rc == 0 and result.err == ""
    return result.out


def test_the_matrix(printed):
    lines = printed.split("\n")
    assert lines[0].split() == ["shm", "tcp", "gloo", "nccl", "nccl", "auto", "auto"]
    assert lines[1].split() == ["memory", "host", "host", "host", "host", "device", "host", "device"]
    rows = {line[:24].strip(): line[24:].split() for line in lines[2:17]}
    assert rows["all_reduce"] == ["yes", "yes", "yes", "copied", "yes", "yes", "yes"]
    assert rows["send, recv"] == ["yes", "yes", "yes", "no", "yes", "yes", "yes"]
    assert rows["bitwise, 16 bit, bool"] == ["yes", "yes", "yes", "copied", "copied", "yes", "copied"]
    assert rows["scan, exscan"] == rows["own functions"] == ["yes", "yes", "yes", "no", "no", "yes", "no"]
    assert len(rows) == 15 and all(len(row) == 7 for row in rows.values())
    assert not any(line != line.rstrip() or len(line) > 100 for line in lines[:17])


def test_usable_backends_are_listed(printed):
    assert "\nshm   can be used here\n" in printed
    assert "\ntcp   can be used here\n" in printed
    assert "\nauto  can be used here\n" in printed
    assert "\nnccl  cannot be used here: nccl: /nowhere/libcuda.so.1: cannot open shared object file" in printed
    assert "\nxccl  is absent\n" in printed
    assert "\nmpi   is none of these: MPI programs run under dlaunch" in printed


def test_help_and_wrong_usage(dlaunch):
    assert "Usage: dlaunch backends" in dlaunch("backends", "--help").out
    result = dlaunch("backends", "nccl")
    assert result.rc == 2 and result.err == "dlaunch: backends: nccl, expected nothing more\n"


def test_a_missing_library_is_reported(dlaunch, binary, tmp_path):
    (tmp_path / "bin").mkdir()
    alone = shutil.copy(binary, tmp_path / "bin")
    result = subprocess.run([alone, "backends"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("dlaunch: backends: libdlaunch.so.") and result.stderr.count("\n") == 1
