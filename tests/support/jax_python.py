"""An interpreter that can import jax: $DLAUNCH_JAX_PYTHON, else Python of the PATH."""

import os
import subprocess

import pytest


def jax_python():
    python = os.environ.get("DLAUNCH_JAX_PYTHON", "python3")
    done = subprocess.run([python, "-c", "import jax"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{python} has no jax (DLAUNCH_JAX_PYTHON names another): {done.stderr.strip().splitlines()[-1]}")
    return python
