"""The program is position independent, its symbol table is read-only before main() runs, and overruns are caught."""

import shutil
import subprocess

import pytest


@pytest.fixture
def readelf(binary):
    if not shutil.which("readelf"):
        pytest.skip("readelf is not installed")
    return lambda *options: subprocess.run(["readelf", *options, "-W", binary], capture_output=True, text=True).stdout


@pytest.fixture
def imports(readelf):
    """Names of the functions that the program takes from libc."""
    if "asan" in (dynamic := readelf("-d")) or "tsan" in dynamic:
        pytest.skip("built with sanitizers")
    return {line.split()[7].split("@")[0] for line in readelf("--dyn-syms").splitlines() if " UND " in line and "@" in line}


def test_addresses_are_random(readelf):
    assert "DYN (" in readelf("-h")
    flags = next(line for line in readelf("-d").splitlines() if "FLAGS_1" in line)
    assert "PIE" in flags


def test_the_symbol_table_is_read_only(readelf, imports):
    assert "GNU_RELRO" in readelf("-l")
    assert "NOW" in readelf("-d")


def test_an_overrun_of_the_stack_ends_the_process(imports):
    assert "__stack_chk_fail" in imports


def test_calls_of_libc_check_their_buffers(imports):
    """A read into an array of known size is such a call; its unchecked form is left where the size is not known."""
    assert {"__read_chk", "__recv_chk", "__memcpy_chk", "__snprintf_chk", "__fprintf_chk"} & imports, sorted(imports)


def test_the_stack_is_not_executable(readelf):
    line = next(line for line in readelf("-l").splitlines() if "GNU_STACK" in line)
    assert "RWE" not in line
