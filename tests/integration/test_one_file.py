"""The program is one file: it needs glibc, and no library besides."""

import os
import re
import shutil
import subprocess

import pytest

OF_GLIBC = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OLDEST = (2, 34)  # the glibc that README promises


@pytest.fixture
def readelf(binary):
    if not shutil.which("readelf"):
        pytest.skip("not installed: readelf")
    return lambda *options: subprocess.run(["readelf", *options, "-W", binary], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def needed(readelf):
    """Libraries that the program is linked with."""
    libraries = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")))
    if any("asan" in library or "tsan" in library for library in libraries):
        pytest.skip("built with sanitizers")
    return libraries


def test_it_needs_glibc_alone(needed, readelf):
    assert "libc.so.6" in needed and needed <= OF_GLIBC
    assert not re.search(r"\((RPATH|RUNPATH)\)", readelf("-d"))


def test_an_older_glibc_is_enough(needed, readelf):
    if os.confstr("CS_GNU_LIBC_VERSION") != "glibc 2.36":
        pytest.skip("the promise is about builds on Debian 12, with glibc 2.36")
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_([0-9.]+)", readelf("-V"))}
    assert (2, 2, 5) in versions and max(versions) <= OLDEST


def test_a_copy_elsewhere_runs(needed, start, binary, tmp_path):
    copy = shutil.copy(binary, tmp_path / "copy")
    result = start("-n", "2", "/bin/echo", "it runs", program=copy, env={"PATH": "/nowhere", "LD_LIBRARY_PATH": None}).wait()
    assert result.rc == 0 and result.out == "it runs\n" * 2, result.err
