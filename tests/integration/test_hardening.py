"""The program is position independent, and its symbol table is read-only before main() runs."""

import shutil
import subprocess

import pytest


@pytest.fixture
def readelf(binary):
    if not shutil.which("readelf"):
        pytest.skip("readelf is not installed")
    return lambda option: subprocess.run(["readelf", option, "-W", binary], capture_output=True, text=True).stdout


def test_addresses_are_random(readelf):
    assert "DYN (" in readelf("-h")


def test_the_symbol_table_is_read_only(readelf):
    if "asan" in (dynamic := readelf("-d")) or "tsan" in dynamic:
        pytest.skip("built with sanitizers")
    assert "GNU_RELRO" in readelf("-l")
    assert "BIND_NOW" in dynamic or "NOW" in dynamic


def test_the_stack_is_not_executable(readelf):
    line = next(line for line in readelf("-l").splitlines() if "GNU_STACK" in line)
    assert "RWE" not in line
