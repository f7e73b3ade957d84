"""A C++ program on two hosts with three and two workers: `auto` takes shared memory inside a host and Gloo between."""

import re

import pytest

from conftest import BINARY
from hosts import PORT

BENCH = BINARY.parent / "examples" / "collective_bench"


@pytest.mark.parametrize("op", ["all_reduce", "reduce_scatter"])
def test_results_are_right(hosts, op):
    if not BENCH.exists() or not (BINARY.parent.parent / "lib" / "libdlaunch-gloo.so").exists():
        pytest.skip(f"{BENCH} or the backend gloo is not built")
    net = hosts(2)
    runs = [
        host.start(
            "--nnodes=2",
            f"--nproc-per-node={workers}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint=node1:{PORT}",
            "--node-rank",
            number,
            BENCH,
            f"--op={op}",
            "--bytes=8:524288",
            "--iterations=1",
            "--check",
        )
        for number, (host, workers) in enumerate(zip(net, (3, 2)))
    ]
    results = [run.wait() for run in runs]
    assert [result.rc for result in results] == [0, 0], results[0].err + results[1].err
    assert f"{op} of float32, auto, 5 ranks" in results[0].out
    wrong = re.findall(r"^ +\d+ .* (\d+)$", results[0].out, re.MULTILINE)
    assert len(wrong) >= 15 and set(wrong) == {"0"}
    for host in net:
        host.empty()
