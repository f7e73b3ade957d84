"""A project elsewhere builds against the installed library, by find_package and by pkg-config, and runs."""
# ctest: timeout 300

import os
import re
import shutil
import subprocess

import pytest

from conftest import BINARY
from packages import PROGRAM, PROJECT


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    build = BINARY.parent.parent
    if not (build / "CMakeCache.txt").exists():
        pytest.skip(f"{build} is no build folder: nothing to install from")
    subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture
def source(tmp_path):
    (tmp_path / "main.cpp").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    return tmp_path


@pytest.fixture(params=["g++", "clang++"])
def compiler(request):
    if not shutil.which(request.param):
        pytest.skip(f"not installed: {request.param}")
    return request.param


def test_find_package(prefix, source, compiler, dlaunch):
    environment = {**os.environ, "CXX": compiler}
    subprocess.run(["cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], check=True, env=environment, timeout=120)
    subprocess.run(["cmake", "--build", source / "build"], check=True, timeout=120)
    assert dlaunch("--nproc-per-node=2", source / "build/consumer").rc == 0


@pytest.fixture
def pkg_config(prefix, monkeypatch):
    """pkg_config(compiler, folder): builds main.cpp as a user does; makes consumer."""
    if not shutil.which("pkg-config"):
        pytest.skip("not installed: pkg-config")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    (found,) = prefix.rglob("dlaunch.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(found.parent)}

    def build(compiler, folder, *more, options=()):
        words = subprocess.run(["pkg-config", *options, "--cflags", "--libs", "dlaunch"], check=True, capture_output=True, text=True, env=environment, timeout=30).stdout.split()
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", folder / "main.cpp", "-o", folder / "consumer", *more, *words], check=True, timeout=120)

    return build


def test_pkg_config(pkg_config, source, compiler, dlaunch):
    pkg_config(compiler, source)
    result = dlaunch("--nproc-per-node=2", "--no-python", source / "consumer", env={"LD_LIBRARY_PATH": None})
    assert result.rc == 0, result.err


def test_a_program_of_a_newer_standard(pkg_config, source, compiler):
    with open(source / "main.cpp", "a") as file:
        file.write("static_assert(__cplusplus > 202002L);\n")
    pkg_config(compiler, source, options=["--define-variable=standard=-std=c++2b"])


def test_a_project_that_is_installed(prefix, source, dlaunch):
    """CMake removes the run path of its build from programs that it installs."""
    for words in (["-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], ["--build", source / "build"], ["--install", source / "build", "--prefix", source / "mine"]):
        subprocess.run(["cmake", *words], check=True, timeout=120)
    result = dlaunch("--nproc-per-node=2", "--no-python", source / "mine/bin/consumer", env={"LD_LIBRARY_PATH": None})
    assert result.rc == 0, result.err


SECTION = """
#include <dlaunch/worker.hpp>
#include <cstdlib>
#include <thread>

int main() {
    using namespace std::chrono_literals;
    if (std::getenv("RANK")[0] == '1') {
        { const dlaunch::Section early("early", 200ms); }
        dlaunch::heartbeat(60s);
        const dlaunch::Section step("wombat", 400ms);
        std::this_thread::sleep_for(600s);
    }
    std::this_thread::sleep_for(600s);
}
"""


@pytest.mark.parametrize("env", [{}, {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}], ids=["socket", "file"])
def test_sections_are_watched(pkg_config, source, dlaunch, env):
    (source / "main.cpp").write_text(SECTION)
    pkg_config("g++", source)
    result = dlaunch("-n", "2", "--grace=2", source / "consumer", env=env)
    assert result.rc == 84 and "rank 1 " in result.first_line and "wombat" in result.first_line, result.err


SPEAKER = """
#include <dlaunch/dlaunch.hpp>
#include <cstdio>
#include <iostream>
#include <string>
#include <unistd.h>

int speak() {
    std::printf("before\\n");
    if (std::string(std::getenv("BY")) == "init") dlaunch::init_process_group();
    std::printf("printf\\n");
    std::putchar('c'), std::putchar('\\n');
    std::cout << "cout\\n";
    std::printf("unfinished");
    _exit(3);  // writes no buffer
}

int main() { return std::string(std::getenv("BY")) == "record" ? dlaunch::record([] { return speak(); }) : speak(); }
"""


def test_lines_are_not_lost_in_a_buffer(pkg_config, source, dlaunch):
    """record() and init_process_group() have stdout written by lines; without them all is lost."""
    (source / "main.cpp").write_text(SPEAKER)
    pkg_config("g++", source)
    said = {by: dlaunch(source / "consumer", env={"BY": by}).out for by in ("record", "init", "none")}
    assert said == {"record": "before\nprintf\nc\ncout\n", "init": "before\nprintf\nc\ncout\n", "none": ""}


@pytest.mark.needs("g++")
def test_the_examples_can_be_built(prefix, pkg_config, source, dlaunch):
    (folder,) = prefix.rglob("examples")
    (source / "main.cpp").write_text(f'#include "{folder}/pi.cpp"\n')
    pkg_config("g++", source, "-I", folder.parent)
    result = dlaunch("-n", "2", source / "consumer")
    assert result.rc == 0 and "Total is = 2.6" in result.out, result.err


def test_it_shows_what_its_headers_declare_and_no_more(prefix):
    library = next(prefix.glob("lib*/**/libdlaunch.so"), None) or next(prefix.glob("lib*/libdlaunch.so"))
    names = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    shown = [line.split(maxsplit=2)[2] for line in names.splitlines()]
    headers = "".join(header.read_text() for header in sorted((prefix / "include" / "dlaunch").glob("*.hpp")))
    declared = set(re.findall(r"^(?:\[\[nodiscard\]\] )?(?! |inline|constexpr|consteval|template|struct|class|using)[\w:<>*& ]+?[ *&](\w+)\((?:[^;{]|{})*;", headers, re.M))
    assert {"init_process_group", "spawn", "heartbeat"} <= declared
    missing = {name for name in declared if not any(symbol.startswith(f"dlaunch::{name}") for symbol in shown)}
    assert not missing, "declared, but not in the library"
    inner = [symbol for symbol in shown if re.match(r"(non-virtual thunk to |vtable for |typeinfo (name )?for )?dlaunch::[a-z_]+::", symbol)]
    assert not inner, "in the library, but in no public header"
