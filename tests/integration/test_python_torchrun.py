"""python -m dlaunch.torchrun: the process becomes dlaunch, with torchrun's ways and this interpreter."""
# ctest: timeout 600

import signal

import pytest

from packages import install_wheel, make_environment, make_wheel
from workers import STAY


@pytest.fixture(scope="module")
def python(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("env")
    python = make_environment(folder / "env")
    install_wheel(python, make_wheel(binary, folder))
    return python


@pytest.fixture
def torchrun(start, python):
    """torchrun(*args) -> Running."""
    return lambda *args, **more: start("-m", "dlaunch.torchrun", *args, program=python, **{"env": {"PYTHON_EXEC": None}, **more})


def test_scripts_run_with_this_interpreter(torchrun, python, script):
    program = script("train", "import os, sys\nprint(sys.prefix, os.environ['RANK'], sys.argv[1:])\n")
    result = torchrun("--standalone", "--nproc_per_node=2", program, "--lr", "0.1").wait()
    prefix = python.parent.parent
    assert sorted(result.out.splitlines()) == [f"{prefix} 0 ['--lr', '0.1']", f"{prefix} 1 ['--lr', '0.1']"], result.err


def test_another_interpreter_may_be_named(torchrun):
    assert torchrun("x.py", env={"PYTHON_EXEC": "/bin/echo"}).wait().out == "-u x.py\n"


def ignored(pid):
    return next(line for line in open(f"/proc/{pid}/status") if line.startswith("SigIgn"))


def test_the_process_becomes_dlaunch(torchrun, job, shell_worker):
    """A signal that the interpreter ignores is not ignored by dlaunch for that."""
    run, plain = torchrun("--no-python", shell_worker(STAY)), job(STAY, workers=1)
    for each in (run, plain):
        each.ready(1)
        assert each.agent()
    assert ignored(run.pid) == ignored(plain.pid)
    for each in (run, plain):
        each.signal(signal.SIGTERM)
    assert run.wait().rc == plain.wait().rc != 0


@pytest.mark.parametrize("args, status", [(["--no-such-option"], 2), (["--no-python", "sh", "-c", "exit 7"], 7)])
def test_the_status_is_dlaunchs(torchrun, args, status):
    assert torchrun(*args).wait().rc == status


def test_a_script_with_the_name_of_a_command(torchrun, tmp_path):
    (tmp_path / "check").write_text("print('the script ran')\n")
    assert torchrun("check").wait().out == "the script ran\n"


def test_without_the_program_a_line_says_so(start, python):
    hidden = python.parent / "dlaunch"
    hidden.rename(hidden.with_suffix(".away"))
    try:
        result = start("-m", "dlaunch.torchrun", "x.py", program=python).wait()
    finally:
        hidden.with_suffix(".away").rename(hidden)
    assert result.rc == 127 and result.err.startswith("dlaunch: the program dlaunch is not installed beside the package")
