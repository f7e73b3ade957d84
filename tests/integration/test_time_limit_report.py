"""At the time limit the report shows the last line of each rank, how old it is, and stacks where they cost nothing."""

import json
import re
import shutil
import sys

import pytest

from packages import USES_MODULE

WAITS = "import os, time\nprint('step', 40 + int(os.environ['RANK']), flush=True)\ntime.sleep(600)\n"


@pytest.mark.parametrize("where", [["--nproc-per-node=2"], ["--launcher=fork", "--hosts=a,b"]], ids=["one node", "two hosts"])
def test_the_last_line_of_each_rank(dlaunch, script, tmp_path, where):
    result = dlaunch("--timeout=1500ms", "--report=report.json", *where, script("waits.py", WAITS))
    assert result.rc == 84
    for rank in range(2):
        age = re.search(rf"rank {rank}, (\d+(?:\.\d+)?) (ms|s) ago: step {40 + rank}\n", result.err)
        assert age and 0 < float(age[1]) * {"ms": 0.001, "s": 1}[age[2]] <= 1.5, result.err
    failures = json.loads((tmp_path / "report.json").read_text())["failures"]
    assert sorted(failure["last_line"] for failure in failures) == ["step 40", "step 41"]


def test_output_of_the_stop_is_no_last_line(dlaunch, script):
    text = "trap 'echo stopped; exit' TERM; echo at work; while :; do sleep 0.05; done"
    result = dlaunch("--timeout=1", "--nproc-per-node=2", "--no-python", "sh", "-c", text)
    assert "ago: at work" in result.err and "ago: stopped" not in result.err, result.err


@pytest.mark.parametrize("how, variables", [
    ("faulthandler.register(signal.SIGUSR1)", {}),
    ("", {"PYTHONFAULTHANDLER": "1"}),
])
def test_the_stacks_of_python(dlaunch, script, how, variables):
    text = f"import faulthandler, signal, time\ndef wait_here():\n    time.sleep(600)\n{how}\nprint('up', flush=True)\nwait_here()\n"
    result = dlaunch("--timeout=2", "--nproc-per-node=2", "-r", "3", "--log-dir=logs", script("hangs.py", text),
                     env={"PYTHON_EXEC": sys.executable, **variables})
    assert result.rc == 84 and "in wait_here" in result.err, result.err
    assert "ago: up\n" in result.err, "the stacks are no last lines"


def test_a_worker_that_handles_the_stop_signal_is_not_aborted(dlaunch, script):
    text = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit('saved'))\nprint('up', flush=True)\ntime.sleep(600)\n"
    result = dlaunch("--timeout=2", script("saves.py", text), env={"PYTHON_EXEC": sys.executable, "PYTHONFAULTHANDLER": "1"})
    assert result.rc == 84 and "saved" in result.err and "Fatal Python error" not in result.err


GDB = """#!/bin/sh
echo "$@" > "$GDB_SEEN"
echo '#0  0x1 in __poll (fds=...) at ../sysdeps/unix/sysv/linux/poll.c:29'
echo '#1  0x2 in wait_for_shards (what=...) at train.cpp:4'
"""


def test_the_stack_of_a_native_program_by_gdb(dlaunch, script, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "gdb").write_text(GDB)
    (tools / "gdb").chmod(0o755)
    env = {"PATH": f"{tools}:/usr/bin:/bin", "GDB_SEEN": str(tmp_path / "words")}
    result = dlaunch("--timeout=1", "--report=report.json", "--no-python", "sh", "-c", "echo at work; exec sleep 600", env=env)
    assert result.rc == 84 and "    wait_for_shards (train.cpp:4)\n" in result.err and "ago: at work" in result.err, result.err
    failure = json.loads((tmp_path / "report.json").read_text())["failures"][0]
    assert failure["stack"] == ["__poll (../sysdeps/unix/sysv/linux/poll.c:29)", "wait_for_shards (train.cpp:4)"]
    assert f"-p {failure['pid']}" in (tmp_path / "words").read_text()


@pytest.mark.parametrize("tool", ["", "#!/bin/sh\necho ptrace: Operation not permitted.\nexit 1\n", "#!/bin/sh\nexec sleep 600\n"],
                         ids=["missing", "refused", "stuck"])
def test_without_a_stack_the_report_has_no_word_about_it(dlaunch, tmp_path, tool):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "sleep", "echo"):
        (tools / name).symlink_to(shutil.which(name))
    if tool:
        (tools / "gdb").write_text(tool)
        (tools / "gdb").chmod(0o755)
    result = dlaunch("--timeout=1", "--grace=0.5", "--no-python", "sh", "-c", "echo at work; exec sleep 600", env={"PATH": str(tools)})
    assert result.rc == 84 and "ago: at work" in result.err and "gdb" not in result.err and "ptrace" not in result.err, result.err


@pytest.mark.parametrize("where", [["--nproc-per-node=2"], ["--launcher=fork", "--hosts=a,b"]], ids=["one node", "two hosts"])
def test_the_last_lines_at_a_hang(dlaunch, script, tmp_path, where):
    text = ("import os, time, dlaunch\nprint('step', 40 + int(os.environ['RANK']), flush=True)\n"
            "if os.environ['RANK'] == '1': dlaunch.heartbeat(0.5)\ntime.sleep(600)\n")
    result = dlaunch(*where, "--report=report.json", script("hangs.py", text), env=USES_MODULE)
    assert result.rc == 84 and result.first_line.startswith("dlaunch: rank 1"), result.err
    for rank in range(2):
        assert re.search(rf"rank {rank}, \d+(\.\d+)? (ms|s) ago: step {40 + rank}\n", result.err), result.err
    failure = json.loads((tmp_path / "report.json").read_text())["failures"][0]
    assert failure["last_line"] == "step 41" and failure["silent_seconds"] > 0
