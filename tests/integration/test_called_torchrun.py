"""Called by the name torchrun, dlaunch behaves like torchrun."""

import json

import pytest


@pytest.fixture
def torchrun(binary, tmp_path):
    link = tmp_path / "torchrun"
    link.symlink_to(binary)
    return link


def test_a_job(start, torchrun, script, seen):
    program = script("train.py", "import os, sys\nprint(os.environ['RANK'], sys.argv[1:])\n")
    result = start(
        "--standalone", "--nnodes=1", "--nproc_per_node=2", "--max_restarts=1", program, "--lr", "0.1", program=torchrun
    ).wait()
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0 ['--lr', '0.1']", "1 ['--lr', '0.1']"]


def test_by_its_path(start, torchrun, tmp_path):
    assert start("--no-python", "true", program="torchrun", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).wait().rc == 0


def test_a_beginning_of_torchruns_option_is_enough(start, torchrun):
    assert start("--dry-run", "--nproc-p=2", "--no-py", "true", program=torchrun).wait().rc == 0


def test_the_plan_is_the_same(start, torchrun, dlaunch):
    words = ("--dry-run", "--nproc-per-node=2", "--master-port=29419", "--rdzv-id=x", "--no-python", "true")
    first, second = (json.loads(text) for text in (start(*words, program=torchrun).wait().out, dlaunch(*words).out))
    assert first.keys() == second.keys()


@pytest.mark.parametrize("name", ["train", "train.txt", "folder"])
def test_files_that_only_python_can_run(start, torchrun, script, tmp_path, name):
    if name == "folder":
        (tmp_path / name).mkdir()
    script(f"{name}/__main__.py" if name == "folder" else name, "print('by Python')\n").chmod(0o644)
    assert start(name, program=torchrun).wait().out == "by Python\n"
    assert start("--no-python", f"./{name}", program=torchrun).wait().rc == 126


def test_an_executable_without_an_interpreter_line_runs_with_python(start, torchrun, script):
    script("train", "print('by Python')\n")
    assert start("train", "--lr=1", program=torchrun).wait().out == "by Python\n"
    assert start("--no-python", "./train", program=torchrun).wait().rc == 126


def test_executable_programs_run_without_python(start, torchrun, script, tmp_path):
    script("worker", "#!/bin/sh\necho by itself\n")
    (tmp_path / "echo").symlink_to("/bin/echo")
    assert start("./worker", program=torchrun).wait().out == "by itself\n"
    assert start("./echo", "by itself", program=torchrun).wait().out == "by itself\n"


@pytest.mark.parametrize("name", ["check", "store", "backends", "version"])
def test_a_script_with_the_name_of_a_command(start, torchrun, tmp_path, name):
    (tmp_path / name).write_text("print('the script ran')\n")
    assert start(name, program=torchrun).wait().out == "the script ran\n"


def environment(tmp_path):
    """A folder like that of a virtual environment, with a python that prints its path."""
    home = tmp_path / "venv"
    (home / "bin").mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("")
    python = home / "bin" / "python"
    python.write_text("#!/bin/sh\necho the environment\n")
    python.chmod(0o755)
    return home


@pytest.mark.parametrize("by_path", [False, True])
def test_python_is_that_of_the_environment_of_the_link(start, binary, tmp_path, by_path):
    link = environment(tmp_path) / "bin" / "torchrun"
    link.symlink_to(binary)
    environ = {"PYTHON_EXEC": "", "PATH": f"{link.parent}:/usr/bin:/bin"}
    words = {"program": "torchrun" if by_path else link, "env": environ}
    assert start("x.py", **words).wait().out == "the environment\n"
    link.parent.parent.joinpath("pyvenv.cfg").unlink()
    assert start("--dry-run", "x.py", **words).wait().out.count("venv/bin/python") == 0
