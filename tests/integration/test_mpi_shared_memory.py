"""Shared memory that killed ranks of MPI leave is removed; other files stay. Each host has a /dev/shm of its own."""

import os
import signal

import pytest
from processes import until

LEAVE = """
for name in ("mpich_shar_tmp%d" % rank, "mine"):
    open("/dev/shm/" + name, "w").close()
ready()
if rank == 0 and len(sys.argv) > 1:
    os.kill(os.getpid(), signal.SIGKILL)
while True:
    time.sleep(600)
"""


@pytest.fixture
def host(hosts):
    return hosts(1)[0]


def shared_memory(host):
    return os.listdir(f"/proc/{host.init}/root/dev/shm")


def test_after_a_killed_rank(host, python_worker):
    run = host.start("-n", 2, "--mpi=pmi1", python_worker(LEAVE), "die")
    assert run.wait().rc == 137
    assert shared_memory(host) == ["mine"]


@pytest.mark.parametrize("who", ["agent", "guard"])
def test_after_a_killed_dlaunch(host, python_worker, seen, who):
    run = host.start("-n", 2, "--mpi=pmi1", python_worker(LEAVE))
    until(lambda: all((seen / f"{rank}.ready").exists() for rank in range(2)), 20, "both ranks")
    os.kill(run.workers_parent() if who == "agent" else run.pid, signal.SIGKILL)
    assert run.wait().rc != 0
    until(lambda: shared_memory(host) == ["mine"], 5, "the end of the shared memory")
    host.empty()


def test_not_without_mpi(host, python_worker):
    run = host.start("-n", 1, "--mpi=none", python_worker(LEAVE), "die")
    assert run.wait().rc == 137
    assert sorted(shared_memory(host)) == ["mine", "mpich_shar_tmp0"]
