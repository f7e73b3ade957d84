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


@pytest.mark.needs("pkg-config")
def test_pkg_config(prefix, source, compiler, dlaunch):
    (found,) = prefix.rglob("dlaunch.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(found.parent)}
    words = subprocess.run(["pkg-config", "--cflags", "--libs", "dlaunch"], check=True, capture_output=True, text=True, env=environment, timeout=30).stdout.split()
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", source / "main.cpp", "-o", source / "consumer", *words], check=True, timeout=120)
    library = found.parent.parent
    assert dlaunch("--nproc-per-node=2", "--env", f"LD_LIBRARY_PATH={library}", "--no-python", source / "consumer").rc == 0


def test_it_shows_what_its_headers_declare_and_no_more(prefix):
    library = next(prefix.glob("lib*/**/libdlaunch.so"), None) or next(prefix.glob("lib*/libdlaunch.so"))
    names = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    shown = [line.split(maxsplit=2)[2] for line in names.splitlines()]
    headers = "".join(header.read_text() for header in sorted((prefix / "include" / "dlaunch").glob("*.hpp")))
    declared = set(re.findall(r"^(?:\[\[nodiscard\]\] )?(?! |inline|constexpr|template|struct|class|using)[\w:<>*& ]+?[ *&](\w+)\(", headers, re.M))
    assert {"init_process_group", "spawn", "heartbeat"} <= declared
    missing = {name for name in declared if not any(symbol.startswith(f"dlaunch::{name}") for symbol in shown)}
    assert not missing, "declared, but not in the library"
    inner = [symbol for symbol in shown if re.match(r"(non-virtual thunk to |vtable for |typeinfo (name )?for )?dlaunch::[a-z_]+::", symbol)]
    assert not inner, "in the library, but in no public header"
