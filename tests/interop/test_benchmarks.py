"""`./dev bench launch`, `logs` and `collectives` measure dlaunch and its peers in the same run. Times are not judged here."""

import json
import subprocess
import sys

import pytest

from conftest import BINARY, ROOT

pytestmark = pytest.mark.needs("mpiexec.hydra", "mpicc.mpich", "mpicc.openmpi")
OPS = ["all_reduce", "reduce", "broadcast", "gather", "scatter", "all_gather", "reduce_scatter", "all_to_all", "send_recv",
       "barrier"]


@pytest.fixture
def bench(binary, tmp_path):
    def run(what, *words):
        """The numbers of one round, and what it printed."""
        numbers = tmp_path / "numbers.json"
        program = [sys.executable, "-B", ROOT / f"tests/bench/{what}.py", f"--build={BINARY.parent.parent}", "--repeats=1"]
        done = subprocess.run([*program, f"--json={numbers}", *words], capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return json.loads(numbers.read_text())["result"], done.stdout

    return run


def test_jobs_are_started_beside_hydra(bench):
    result, _ = bench("launch")
    assert list(result) == ["1", "8", "64", "256"]
    for ranks, times in result.items():
        assert times["dlaunch"] > 0 and times["hydra"] > 0, (ranks, times)


def test_all_lines_reach_the_console_beside_hydra_and_cat(bench):
    result, printed = bench("logs")
    assert {*result} == {"dlaunch", "hydra", "cat"} and all(rate > 0 for rate in result.values()), result
    assert "4 x 500000 lines" in printed


def test_each_collective_is_measured_beside_each_mpi(bench):
    result, printed = bench("collectives", "--ops=all", "--ranks=2", "--sizes=1024", "--backends=shm")
    assert list(result) == OPS
    for op, figures in result.items():
        [times] = figures.values()
        assert {"shm", "mpich", "openmpi", "openmpi tuned", "openmpi tcp"} <= {*times}, (op, times)
        assert all(us > 0 for us in times.values()), (op, times)
    assert printed.count("shm against the best MPI: ") == len(OPS)
