"""`./dev bench start`: dlaunch and its peers start every worker, by ssh and on 64 hosts. Times are not judged here."""

import json
import subprocess
import sys

import pytest

from conftest import BINARY, ROOT
from real_sshd import missing

pytestmark = pytest.mark.needs("mpiexec.hydra", "mpirun.openmpi", "pdsh")


def test_each_launcher_starts_all_workers(binary, tmp_path):
    if reason := missing():
        pytest.skip(reason)
    numbers = tmp_path / "start.json"
    words = [sys.executable, "-B", ROOT / "tests/bench/start.py", f"--build={BINARY.parent.parent}", "--repeats=1", f"--json={numbers}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    found = json.loads(numbers.read_text())
    text = json.dumps(found)
    for name in ("ssh, 4 hosts", "64 hosts", "dlaunch", "hydra", "mpirun", "fork", "pdsh -R exec"):
        assert f'"{name}"' in text, text
    assert done.stdout.count(" ms ") == 6, done.stdout
