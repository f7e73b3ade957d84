"""A PyTorch script written for torchrun, with torch 1.13 and with a current torch."""

import pytest

from torch_python import PYTHONS

SCRIPT = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(4) * (dist.get_rank() + 1)
dist.all_reduce(total)
print("sum", total.tolist(), "of", dist.get_world_size(), "round", os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)
dist.barrier()
if os.environ["TORCHELASTIC_RESTART_COUNT"] < os.environ.get("FAILURES", "0") and dist.get_rank() == 1:
    os._exit(3)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture(params=PYTHONS)
def torch_job(request, dlaunch, script):
    """torch_job(*options) -> Result of two ranks of SCRIPT."""
    python = request.param()

    def torch_job_(*options, **more):
        return dlaunch(
            "--standalone",
            "--nproc-per-node=2",
            *options,
            script("train.py", SCRIPT),
            env={"PYTHON_EXEC": python, **more},
            timeout=90,
        )

    return torch_job_


def test_all_reduce(torch_job):
    result = torch_job()
    assert result.rc == 0, result.err
    assert sorted(result.out.splitlines()) == ["sum [3.0, 3.0, 3.0, 3.0] of 2 round 0"] * 2


def test_all_reduce_after_a_restart(torch_job):
    result = torch_job("--max-restarts=1", "--grace=2", FAILURES="1")
    assert result.rc == 0, result.err
    assert result.out.splitlines().count("sum [3.0, 3.0, 3.0, 3.0] of 2 round 1") == 2
