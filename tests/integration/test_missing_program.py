"""A missing script, and a program that lacks its ./, are detected before anything starts."""

import json

import pytest


@pytest.fixture
def spy(script, tmp_path):
    script("spy-python", f"#!/bin/sh\ntouch {tmp_path}/started\nexit 2\n")
    return {"PYTHON_EXEC": tmp_path / "spy-python"}


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--nnodes=2", "--master-addr=127.0.0.1", "--node-rank=1"]])
def test_a_missing_script(dlaunch, spy, tmp_path, more):
    result = dlaunch(*more, "--nproc-per-node=2", "missing.py", env=spy)
    assert result.rc == 127 and (result.out == "" or more == ["--dry-run"])
    assert result.err == f"dlaunch: missing.py: no such file in {tmp_path}, expected a Python script\n"
    assert not (tmp_path / "started").exists()


def test_a_script_is_looked_for_in_the_working_directory_of_the_workers(dlaunch, script, tmp_path):
    (tmp_path / "there").mkdir()
    script("there/here.py", "print('found')\n")
    assert dlaunch("--chdir=there", "here.py").out == "found\n"
    result = dlaunch("--dry-run", "here.py")
    assert result.rc == 127 and "here.py: no such file" in result.err and json.loads(result.out)["contexts"]


def test_a_missing_script_on_a_host(dlaunch, tmp_path):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "missing.py")
    assert result.rc == 127 and "missing.py: no such file" in result.err and "host a: missing.py" in result.err, result.err


@pytest.mark.parametrize("workers", [1, 2])
def test_a_script_without_its_ending(dlaunch, script, workers):
    script("ring.py", "exit(0)\n")
    result = dlaunch(f"--nproc-per-node={workers}", "ring")
    assert (result.rc, result.err) == (127, "dlaunch: ring: not found in PATH, but there is ./ring.py: expected dlaunch ring.py\n")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_beside_the_user(dlaunch, script, workers):
    script("ring", "#!/bin/sh\nexit 0\n")
    result = dlaunch(f"--nproc-per-node={workers}", "ring")
    assert (result.rc, result.err) == (127, "dlaunch: ring: not found in PATH, but there is ./ring: expected dlaunch ./ring\n")
