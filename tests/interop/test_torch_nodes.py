"""A PyTorch script on several hosts: init_process_group with dlaunch's store, all_reduce, a killed worker, the correct sum.

With Debian's torch and with a current one."""

# ctest: timeout 600

import os
import re
import signal

import pytest

from hosts import PORT
from processes import until
from torch_python import PYTHONS

SCRIPT = """
import os, torch, torch.distributed as dist
assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
dist.init_process_group("gloo")
total = torch.ones(4) * (dist.get_rank() + 1)
dist.all_reduce(total)
print("sum", total.tolist(), "on", os.uname().nodename, "round", os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)
dist.barrier()
note = f"{os.environ['SEEN']}/{os.environ['TORCHELASTIC_RESTART_COUNT']}.{dist.get_rank()}.summed"
open(note, "w").close()
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    torch.distributed.all_reduce(total) if dist.get_rank() else __import__("signal").pause()  # rank 0 never comes
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture(params=PYTHONS)
def python(request):
    return request.param()


@pytest.mark.parametrize("nodes, each", [(2, 2), (4, 1)])
def test_all_reduce_again_after_a_killed_worker(hosts, script, seen, python, nodes, each):
    net = hosts(nodes)
    program = script("train.py", SCRIPT)
    runs = [
        host.start(
            f"--nnodes={nodes}",
            f"--nproc-per-node={each}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint=node1:{PORT}",
            "--max-restarts=1",
            "--grace=2",
            program,
            env={"PYTHON_EXEC": python},
        )
        for host in net
    ]
    until(lambda: len(list(seen.glob("0.*.summed"))) == 4, 120, "the first sum on all ranks")
    worker = runs[-1].workers()[3]
    os.kill(worker, signal.SIGKILL)
    results = [run.wait(120) for run in runs]
    assert [result.rc for result in results] == [0] * nodes, results[-1].err
    for result in results:
        assert "rank 3 (" in result.err and "SIGKILL" in result.err
        for count in (0, 1):
            assert len(re.findall(rf"sum \[10\.0, 10\.0, 10\.0, 10\.0\] on \S+ round {count}", result.out)) == each
    for host in net:
        host.empty()
