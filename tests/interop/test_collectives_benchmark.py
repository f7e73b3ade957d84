"""`./dev bench collectives --ops=all`: every collective is measured beside each MPI. Times are not judged here."""

import json
import subprocess
import sys

import pytest

from conftest import BINARY, ROOT

pytestmark = pytest.mark.needs("mpicc.mpich", "mpicc.openmpi")
OPS = ["all_reduce", "reduce", "broadcast", "gather", "scatter", "all_gather", "reduce_scatter", "all_to_all", "send_recv",
       "barrier"]


def test_each_collective_is_measured_beside_each_mpi(binary, tmp_path):
    numbers = tmp_path / "collectives.json"
    words = [sys.executable, "-B", ROOT / "tests/bench/collectives.py", f"--build={BINARY.parent.parent}", "--ops=all",
             "--ranks=2", "--sizes=1024", "--backends=shm", "--repeats=1", f"--json={numbers}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    result = json.loads(numbers.read_text())["result"]
    assert list(result) == OPS
    for op, figures in result.items():
        [times] = figures.values()
        assert {"shm", "mpich", "openmpi", "openmpi tuned", "openmpi tcp"} <= {*times}, (op, times)
        assert all(us > 0 for us in times.values()), (op, times)
    assert done.stdout.count("shm against the best MPI: ") == len(OPS)
