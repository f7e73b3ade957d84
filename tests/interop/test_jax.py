"""jax.distributed.initialize() with dlaunch's variables, on one host and on two, and again after a killed worker."""

# ctest: timeout 600

import os
import signal
from pathlib import Path

import pytest

from hosts import PORT
from jax_python import jax_python
from processes import until

SCRIPT = """
import os, jax, numpy
assert os.environ["JAX_COORDINATOR_ADDRESS"].rpartition(":")[2] != os.environ["MASTER_PORT"]
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]))
from jax.experimental.multihost_utils import process_allgather
ranks = process_allgather(numpy.array([jax.process_index() + 1]))
count = os.environ["TORCHELASTIC_RESTART_COUNT"]
print("ranks", ranks.ravel().tolist(), "round", count, "at", os.environ["JAX_COORDINATOR_ADDRESS"], flush=True)
open(f"{os.environ['SEEN']}/{count}.{jax.process_index()}.joined", "w").close()
if count == "0" and os.environ.get("PAUSE"):
    __import__("signal").pause()
"""
ROOT = Path(__file__).resolve().parent.parent.parent
ENV = {"JAX_PLATFORMS": "cpu"}


@pytest.fixture
def env():
    return {"PYTHON_EXEC": jax_python(), **ENV}


def test_two_processes(dlaunch, script, seen, env):
    result = dlaunch("--nproc-per-node=2", script("train.py", SCRIPT), env=env, timeout=120)
    assert result.rc == 0, result.err
    assert result.out.count("ranks [1, 2] round 0") == 2


def test_no_argument_with_the_module(dlaunch, script, env):
    text = """
import jax, dlaunch.jax
jax.distributed.initialize()
print(jax.process_index(), jax.process_count(), flush=True)
"""
    slurm = [f"--env=SLURM_{name}=0" for name in ("JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID")]
    env |= {"PYTHONPATH": ROOT / "worker_lib/python"}
    result = dlaunch("--nproc-per-node=2", *slurm, script("train.py", text), env=env, timeout=120)
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0 2", "1 2"], result.err


@pytest.mark.parametrize("each", [1, 2])
def test_two_hosts_again_after_a_killed_worker(hosts, script, seen, env, each):
    net = hosts(2)
    program = script("train.py", SCRIPT)
    options = (f"--nproc-per-node={each}", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}")
    runs = [
        host.start("--nnodes=2", *options, "--max-restarts=1", "--grace=1", program, env={**env, "PAUSE": "1"})
        for host in net
    ]
    until(lambda: len(list(seen.glob("0.*.joined"))) == 2 * each, 120, "all processes of the first round")
    os.kill(runs[-1].workers()[2 * each - 1], signal.SIGKILL)
    results = [run.wait(120) for run in runs]
    assert [result.rc for result in results] == [0, 0], results[-1].err
    lines = [line for result in results for line in result.out.splitlines() if line.startswith("ranks")]
    everyone = str(list(range(1, 2 * each + 1)))
    for count in (0, 1):
        assert sum(f"ranks {everyone} round {count} at 10." in line for line in lines) == 2 * each, lines
    assert len({line.split(" at ")[1] for line in lines}) == 2, "each round has an address of its own"
    for host in net:
        host.empty()
