"""The packages of the build that is tested, and environments for them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "worker_lib" / "python"
USES_MODULE = {"PYTHONPATH": str(MODULE), "PYTHONDONTWRITEBYTECODE": "1"}  # the module without a wheel

# A project elsewhere, which uses the installed library.
PROGRAM = """
#include <dlaunch/dlaunch.hpp>
#include <chrono>
#include <vector>

int main() {
    using namespace std::chrono_literals;
    dlaunch::init_process_group({.timeout = 60s});
    const dlaunch::ProcessGroup both = dlaunch::new_group(std::vector{0, 1}, {.name = "both"});
    std::vector<float> data(3, 1);
    both.all_reduce(data, dlaunch::ReduceOp::sum(), {.timeout = 10s});
    both.monitored_barrier({.wait_all_ranks = false});
    try {
        dlaunch::all_reduce(data, dlaunch::ReduceOp::band());
    } catch (const dlaunch::Error& error) {
        return data[2] == 2 && error.code() == dlaunch::ErrorCode::invalid_argument ? 0 : 1;
    }
    return 2;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(consumer CXX)
find_package(dlaunch REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE dlaunch::worker)
install(TARGETS consumer)
"""


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **more)
    assert done.returncode == 0, f"{words[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def version():
    return re.search(r"project\(dlaunch VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def make_wheel(binary, folder):
    return Path(run(sys.executable, "-B", MODULE / "make_wheel.py", "--program", binary, "--version", version(), "--out", folder).strip())


def make_deb(binary, folder):
    """The Debian package of the build folder of the program."""
    config = binary.parent.parent / "CPackConfig.cmake"
    if not config.exists():
        pytest.skip(f"{config} is not there: nothing to make a package of")
    run("cpack", "--config", config, "-B", folder)
    shutil.rmtree(folder / "_CPack_Packages")
    return next(folder.glob("*.deb"))


def make_environment(folder, python=sys.executable):
    """A fresh virtual environment with pip; returns its interpreter."""
    done = subprocess.run([python, "-m", "venv", folder], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"{python} makes no virtual environment (package python3-venv): {(done.stdout + done.stderr).strip().splitlines()[-1:]}")
    return folder / "bin" / "python"


def pip(python, *words):
    return run(python, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", *words)


def install_wheel(python, wheel):
    pip(python, "install", "--no-index", "--quiet", wheel)
