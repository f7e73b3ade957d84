"""Interpreters that can import torch: Debian's, and $DLAUNCH_TORCH_PYTHON."""

import functools
import os
import subprocess

import pytest


@functools.cache
def why_not(python):
    done = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["it ended without a message"])[-1] if done.returncode else ""


def debian():
    if not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("no /usr/bin/python3")
    if why_not("/usr/bin/python3"):
        pytest.skip(f"/usr/bin/python3 has no torch (package python3-torch): {why_not('/usr/bin/python3')}")
    return "/usr/bin/python3"


def current():
    python = os.environ.get("DLAUNCH_TORCH_PYTHON")
    if not python:
        pytest.skip("DLAUNCH_TORCH_PYTHON names no interpreter with a current torch")
    assert not why_not(python), f"DLAUNCH_TORCH_PYTHON={python}: {why_not(python)}"
    return python


PYTHONS = [pytest.param(debian, id="debian"), pytest.param(current, id="current")]
