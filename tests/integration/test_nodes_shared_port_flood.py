"""At a port that agents and workers share, clients that send no request do not keep the agent of a late node out, however
few descriptors there are."""

import pytest

from wire import GREETING, Wire

PORT = 29555
COUNT = 400

pytestmark = pytest.mark.needs("prlimit")


def test_the_late_node_joins(cluster):
    job = cluster(2)

    def start(rank):
        words = ["--nnodes=2", "--nproc-per-node=1", f"--node-rank={rank}", "--master-addr=node1", f"--master-port={PORT}"]
        return job.net[rank].start(*words, "--no-python", str(job.program), prefix=("prlimit", "--nofile=256:256"))

    runs = [start(0)]
    job.net[0].await_connection(job.net[0], PORT)
    silent = [Wire(job.net[1], job.net[0], PORT) for _ in range(COUNT)]
    for wire in silent:
        wire.send(GREETING)
    runs.append(start(1))
    job.end_well(job.world(2, seconds=40), *runs)
    for wire in silent:
        wire.close()
