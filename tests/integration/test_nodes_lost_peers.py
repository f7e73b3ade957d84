"""Agents send loss notices to workers that wait in a call of libdlaunch: the call ends with an Error that names the lost
ranks, long before its time-out. The workers ignore the stop signal, so that only the Error ends them."""

import os
import signal

import pytest

from conftest import BINARY
from hosts import PORT
from processes import until

BENCH = BINARY.parent / "examples" / "collective_bench"


@pytest.fixture
def job(hosts):
    """job(backend) -> two hosts and their runs, with two workers each that call barrier() in a loop."""
    if not BENCH.exists() or not (BINARY.parent.parent / "lib" / "libdlaunch-gloo.so").exists():
        pytest.skip(f"{BENCH} or the backend gloo is not built")

    def job_(backend):
        net = hosts(2)
        runs = [
            host.start(
                "--nnodes=2",
                "--nproc-per-node=2",
                "--rdzv-backend=c10d",
                f"--rdzv-endpoint=node1:{PORT}",
                "--node-rank",
                number,
                "--node-timeout=2",
                "--wrap=all:env --ignore-signal=TERM",
                "--wrap=0:stdbuf -oL",
                BENCH,
                f"--backend={backend}",
                "--op=barrier",
                "--iterations=100000000",
            )
            for number, host in enumerate(net)
        ]
        until(lambda: "bus GB/s" in runs[0].out(), 20, "the group")
        return net, runs

    return job_


@pytest.mark.parametrize("backend", ["auto", "tcp", "gloo"])
def test_of_a_host_that_was_lost(job, backend):
    net, runs = job(backend)
    net[1].lose()
    until(lambda: "ranks 2 and 3 are gone: node2 was lost" in runs[0].err(), 10, "the end of the call")
    assert runs[0].wait(20).rc == 80  # too few nodes are left


@pytest.mark.parametrize("backend", ["auto", "tcp", "gloo"])
def test_of_a_rank_that_was_killed(job, backend):
    net, runs = job(backend)
    os.kill(runs[1].workers()[3], signal.SIGKILL)
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [137, 137]
    for result in results:
        assert "rank 3" in result.err and "is gone" in result.err
    for host in net:
        host.empty()
