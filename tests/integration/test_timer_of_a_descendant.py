"""A timer of torch's file timer that a process below the worker has set: the worker is ended and called hung."""

import os
import sys
from pathlib import Path

import pytest

PROGRAM = f"#!{sys.executable} -SE\n" + """
import json, os, time
timer = {"pid": os.getpid(), "scope_id": "step", "expiration_time": time.time() + 0.3, "signal": 9}
pipe = os.open(os.environ["TORCHELASTIC_TIMER_FILE"], os.O_WRONLY)
os.write(pipe, (json.dumps(timer) + "\\n").encode())
time.sleep(600)
"""


@pytest.mark.parametrize("words", [
    ["sh", "-c", '"$0"; exit $?'],
    ["sh", "-c", 'sh -c "sh -c $0; exit \\$?"; exit $?'],
    ["setsid", "-w"],
    ["sh", "-c", 'setsid -w "$0"; exit $?'],
], ids=["shell", "shells", "setsid", "setsid below a shell"])  # fmt: skip
def test_it_ends_the_worker(dlaunch, script, words):
    env = {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
    result = dlaunch("--grace=2", "--no-python", *words, script("program", PROGRAM), env=env)
    assert result.rc == 84 and "step" in result.err, result.err


def test_it_ends_the_worker_under_a_wrapper(dlaunch, script):
    wrapper, program = script("wrapper", '#!/bin/sh\n"$@"; exit $?\n'), script("program", PROGRAM)
    result = dlaunch("--wrap", f"all:{wrapper}", "--no-python", program, env={"TORCHELASTIC_ENABLE_FILE_TIMER": "1"})
    assert result.rc == 84, result.err


def makes_cgroups():
    """Whether a cgroup v2 can be made below that of this process."""
    own = next((line[4:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::/")), "")
    for mount in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        folder = mount / own / f"test-{os.getpid()}"
        try:
            if (mount / "cgroup.controllers").exists():
                folder.mkdir()
                folder.rmdir()
                return True
        except OSError:
            pass
    return False


def test_it_ends_the_worker_of_an_orphan_in_a_session_of_its_own(dlaunch, script):
    """Known by its cgroup."""
    if not makes_cgroups():
        pytest.skip("no cgroup can be made")
    worker = '(setsid "$0" &); exec sleep 60'
    env = {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
    result = dlaunch("--grace=2", "--timeout=10", "--no-python", "sh", "-c", worker, script("program", PROGRAM), env=env)
    assert result.rc == 84 and "step" in result.err, result.err
