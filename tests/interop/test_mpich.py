"""Unmodified programs of MPICH: the examples, and how a job of them ends. On one node and on two that share a machine."""

import os
import re
import subprocess

import pytest
from conftest import ROOT
from hosts import PORT

pytestmark = pytest.mark.needs("mpicc.mpich")

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size;
    if (argc > 1 && !atoi(getenv("RANK")) && argv[1][0] == 'e') return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && rank == 1 && argv[1][0] == 'a') MPI_Abort(MPI_COMM_WORLD, 7);
    if (argc > 1 && rank == 1 && argv[1][0] == 'k') abort();
    if (argc > 1) MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d, sum %d\n", rank, size, sum);
    MPI_Finalize();
    return 0;
}
"""


def compiled(source, target):
    done = subprocess.run(["mpicc.mpich", "-o", target, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    return compiled(tmp_path / "program.c", tmp_path / "program")


def told(size):
    return [f"rank {rank} of {size}, sum {sum(range(size))}" for rank in range(size)]


def test_a_world_of_four(dlaunch, program):
    result = dlaunch("-n", 4, "--mpi=pmi1", program)
    assert result.rc == 0 and sorted(result.out.splitlines()) == told(4), result.err


def test_two_agents_on_one_machine(hosts, program):
    host = hosts(1)[0]
    common = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=mpich", "--nproc-per-node=2", "--no-python"]
    runs = [host.start(*common, "--mpi=pmi1", program) for _ in range(2)]
    results = [run.wait(60) for run in runs]
    assert [result.rc for result in results] == [0, 0], results[0].err + results[1].err
    assert sorted((results[0].out + results[1].out).splitlines()) == told(4)


def test_an_abort(dlaunch, program):
    result = dlaunch("-n", 3, "--mpi=pmi1", program, "abort")
    assert result.rc == 7
    assert re.search(r"^dlaunch: rank 1 .* called MPI_Abort with 7", result.err, re.MULTILINE)


def test_a_rank_that_never_joins(dlaunch, program):
    result = dlaunch("-n", 2, "--mpi=pmi1", program, "early")
    assert result.rc == 1
    assert re.search(r"^dlaunch: rank 0 .* without MPI_Init", result.err, re.MULTILINE)


def test_a_crash_leaves_no_shared_memory(hosts, program):
    """The host has a /dev/shm of its own."""
    host = hosts(1)[0]
    run = host.start("-n", 4, "--mpi=pmi1", program, "killed")
    assert run.wait(60).rc == 134
    assert os.listdir(f"/proc/{host.init}/root/dev/shm") == []


@pytest.mark.parametrize("name, count, lines", [
    ("mpi_send_recv", 2, ["Process 1 received number 43523 from process 0"]),
    ("mpi_pi", 4, ["Total is = 2.895238", "rank=0 total=1.000000", "rank=1 total=-0.333333", "rank=2 total=0.200000", "rank=3 total=-0.142857"]),
])
def test_the_examples(dlaunch, tmp_path, name, count, lines):
    result = dlaunch("-n", count, compiled(ROOT / "examples/documents" / f"{name}.c", tmp_path / name))
    assert result.rc == 0 and sorted(result.out.splitlines()) == lines, result.err
