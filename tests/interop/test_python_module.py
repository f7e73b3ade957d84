"""torchrun's -m: the program is a module."""


def test_a_module_of_the_project(dlaunch, tmp_path):
    package = tmp_path / "project"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text("import os, sys\nprint(__name__, os.environ['RANK'], sys.argv[1:])\n")
    result = dlaunch("--nproc-per-node=2", "-m", "project.train", "--lr=0.1", "-m", cwd=tmp_path)
    assert result.rc == 0 and sorted(result.out.splitlines()) == [
        "__main__ 0 ['--lr=0.1', '-m']",
        "__main__ 1 ['--lr=0.1', '-m']",
    ]


def test_a_module_of_python(dlaunch):
    assert "usage" in dlaunch("-m", "json.tool", "--help").out.lower()


def test_a_module_that_is_not_there(dlaunch):
    result = dlaunch("--module", "no_such_module_at_all")
    assert result.rc == 1 and "no_such_module_at_all" in result.err and "rank 0" in result.err


def test_no_python_and_module_are_refused(dlaunch):
    result = dlaunch("--no-python", "-m", "project.train")
    assert result.rc == 2 and "--no-python" in result.first_line and "-m" in result.first_line
