"""The wheel: pip installs program, module and pages into a fresh environment, offline, and removes them."""
# ctest: timeout 600

import re
import zipfile

import pytest

from packages import install_wheel, make_environment, make_wheel, pip, run, version


@pytest.fixture(scope="module")
def wheel(binary, tmp_path_factory):
    return make_wheel(binary, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a fresh environment with the wheel in it."""
    python = make_environment(tmp_path_factory.mktemp("env") / "env")
    install_wheel(python, wheel)
    return python


def test_the_tag_names_the_glibc_that_the_program_needs(wheel, binary):
    newest = max(int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)", run("readelf", "-V", binary)))
    assert re.fullmatch(rf"dlaunch-{re.escape(version())}-py3-none-manylinux_2_{newest}_(x86_64|aarch64)\.whl", wheel.name)


def test_equal_inputs_give_equal_wheels(wheel, binary, tmp_path):
    assert make_wheel(binary, tmp_path).read_bytes() == wheel.read_bytes()


def test_the_program_is_in_the_environment_and_runs_its_python(python, start, script):
    program = script("train.py", "import sys, dlaunch\nprint(sys.prefix, dlaunch.__version__, dlaunch.restart_count())\n")
    result = start("-n", "2", program, program=python.parent / "dlaunch", env={"PYTHON_EXEC": None, "VIRTUAL_ENV": None}).wait()
    assert result.rc == 0 and result.out == f"{python.parent.parent} {version()} 0\n" * 2, result.err


def test_the_pages_come_along(python):
    pages = python.parent.parent / "share" / "man"
    assert (pages / "man1" / "dlaunch.1").is_file() and (pages / "man7" / "dlaunch-python.7").is_file()


def test_what_is_installed_is_complete(python, wheel):
    assert "No broken requirements" in pip(python, "check")
    assert re.search(r"^Requires: *$", pip(python, "show", "dlaunch"), re.M)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
    assert run(python, "-c", "import sys, dlaunch; print('json' in sys.modules, 'torch' in sys.modules)").split()[1] == "False"


def test_an_interpreter_that_does_not_ask_loads_nothing_of_it(python):
    assert run(python, "-c", "import sys; print([name for name in sys.modules if name.startswith('dlaunch')])") == "[]\n"


def test_pip_removes_all_of_it(wheel, tmp_path):
    python = make_environment(tmp_path / "env")
    before = sorted(tmp_path.rglob("*dlaunch*"))
    install_wheel(python, wheel)
    assert sorted(tmp_path.rglob("*dlaunch*")) != before
    pip(python, "uninstall", "--yes", "--quiet", "dlaunch")
    assert sorted(tmp_path.rglob("*dlaunch*")) == before == []


def test_another_program_than_ours_makes_no_wheel(tmp_path):
    with pytest.raises(AssertionError, match="expected no library but glibc"):
        make_wheel("/usr/bin/cmake", tmp_path)
    with pytest.raises(AssertionError, match="expected a program"):
        make_wheel(__file__, tmp_path)
