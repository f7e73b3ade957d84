"""C++ programs of tests, linked with the library of this build."""

import os
import subprocess

import pytest

from conftest import BINARY, ROOT


def linked(program, text):
    """The path `program`, compiled from `text`."""
    # A program linked with a sanitized library must be sanitized too; its tests need a sanitized dlaunch only.
    library = (ROOT / "build/release" if os.environ.get("DLAUNCH_SANITIZE") else BINARY.parent.parent) / "lib"
    if not (library / "libdlaunch.so").exists():
        pytest.skip(f"no libdlaunch.so in {library}")
    source = program.with_suffix(".cpp")
    source.write_text(text)
    words = ["g++", "-std=c++20", f"-I{ROOT}/worker_lib/include", source, "-o", program]
    subprocess.run([*words, f"-L{library}", "-ldlaunch", f"-Wl,-rpath,{library}"], check=True, timeout=120)
    return program
