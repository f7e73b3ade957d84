"""The Debian package: installed by dpkg into a bare root, where jobs run, programs link the library, and nothing stays."""
# ctest: timeout 600

import os
import re

import pytest

from bare_root import dpkg, enter, files, make_bare_root, names_of
from packages import PROGRAM, PROJECT, make_deb, run, version

pytestmark = pytest.mark.needs("cpack", "dpkg-deb", "dpkg-shlibdeps", "file", "strip")
AS_ROOT = [pytest.mark.root, pytest.mark.needs("unshare", "chroot", "ldconfig")]


@pytest.fixture(scope="module")
def deb(binary, tmp_path_factory):
    return make_deb(binary, tmp_path_factory.mktemp("deb"))


@pytest.fixture(scope="module")
def bare(deb, tmp_path_factory):
    """A root with what the package depends on."""
    root = tmp_path_factory.mktemp("bare")
    make_bare_root(root, names_of(run("dpkg-deb", "-f", deb, "Depends")))
    return root


@pytest.fixture(scope="module")
def installed(deb, bare):
    """The root with the package; removed at the end, which leaves nothing."""
    before = files(bare)
    dpkg(bare, "-i", deb)
    yield bare
    dpkg(bare, "--purge", "dlaunch")
    (bare / "opt/consumer").unlink(missing_ok=True)
    assert files(bare) == before


@pytest.fixture
def in_root(start, installed):
    """in_root(*words) -> Result of a program of the root."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": "/tmp", "PYTHON_EXEC": None, "LD_LIBRARY_PATH": None}
    return lambda *words: start(*enter(installed)[1:], *words, program="unshare", env=environment, cwd="/").wait()


def test_files_are_where_debian_puts_them(deb):
    names = {line.split()[5][1:] for line in run("dpkg-deb", "-c", deb).splitlines() if not line.startswith("d")}
    (library,) = {os.path.dirname(name) for name in names if name.endswith("/libdlaunch.so")}
    assert re.fullmatch(r"/usr/lib/[a-z0-9_]+-linux-gnu", library)
    assert {"/usr/bin/dlaunch", "/usr/include/dlaunch/dlaunch.hpp", f"{library}/libdlaunch.so.{version()}", f"{library}/pkgconfig/dlaunch.pc",
            f"{library}/cmake/dlaunch/dlaunchConfig.cmake", "/usr/share/man/man1/dlaunch.1.gz", "/usr/share/man/man3/libdlaunch.3.gz",
            "/usr/share/bash-completion/completions/dlaunch", "/usr/share/zsh/vendor-completions/_dlaunch",
            "/usr/share/fish/vendor_completions.d/dlaunch.fish", "/usr/share/doc/dlaunch/copyright", "/usr/share/doc/dlaunch/changelog.gz"} <= names
    assert not [name for name in names if not name.startswith(("/usr/bin/", "/usr/include/dlaunch/", f"{library}/", "/usr/share/"))]


def test_it_says_what_it_is_and_needs(deb):
    field = lambda name: run("dpkg-deb", "-f", deb, name).strip()
    assert (field("Package"), field("Version"), field("Architecture")) == ("dlaunch", version(), run("dpkg", "--print-architecture").strip())
    assert {"libc6", "libstdc++6"} <= set(names_of(field("Depends"))) and "libhwloc15" in field("Recommends")
    assert deb.name == f"dlaunch_{version()}_{field('Architecture')}.deb"


def of_root(test):
    for mark in AS_ROOT:
        test = mark(test)
    return test


@of_root
def test_a_job_runs_in_a_bare_root(in_root):
    result = in_root("/usr/bin/dlaunch", "-n", "2", "sh", "-c", "echo $RANK of $WORLD_SIZE")
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0 of 2", "1 of 2"], result.err


@of_root
def test_the_library_is_found_with_its_backends(in_root):
    result = in_root("dlaunch", "backends")
    assert result.rc == 0 and "shm" in result.out and "gloo" in result.out, result.err


def build(installed, tmp_path, how):
    """A program that links the library of the root."""
    (config,) = installed.glob("usr/lib/*/pkgconfig")
    (tmp_path / "main.cpp").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    if how == "find_package":
        run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}/usr")
        run("cmake", "--build", tmp_path / "build")
        return tmp_path / "build/consumer"
    words = run("pkg-config", "--cflags", "--libs", "dlaunch", env={**os.environ, "PKG_CONFIG_LIBDIR": str(config)}).split()
    run("g++", tmp_path / "main.cpp", "-o", tmp_path / "consumer", *words)
    return tmp_path / "consumer"


@of_root
@pytest.mark.parametrize("how", [pytest.param("find_package", marks=pytest.mark.needs("cmake")), pytest.param("pkg_config", marks=pytest.mark.needs("pkg-config"))])
def test_a_program_links_the_library(installed, in_root, tmp_path, how):
    program = build(installed, tmp_path, how)
    (installed / "opt/consumer").write_bytes(program.read_bytes())
    (installed / "opt/consumer").chmod(0o755)
    result = in_root("dlaunch", "-n", "2", "/opt/consumer")
    assert result.rc == 0, result.err
