"""DLAUNCH_REPLACE_TORCHRUN=1 with the real torch: what its launchers are called with goes to dlaunch."""
# ctest: timeout 600

import subprocess

import pytest

from packages import install_wheel, make_environment, make_wheel
from torch_python import PYTHONS

SHOW = "import os, sys\nprint(os.environ['RANK'], os.environ['DLAUNCH_JOB_ID'], sys.argv[1:])\n"
# As `tune run` and `accelerate launch` do: the parser's actions or values, changed, go to run() in the same process.
CALLER = """
import sys
from torch.distributed.run import get_args_parser, run
args = get_args_parser().parse_args(["--nproc_per_node", "2", "--rdzv_id=mine", "--standalone", "recipe"])
args.training_script, args.training_script_args, args.module = sys.argv[1], ["x"], False
run(args)
"""


@pytest.fixture(params=PYTHONS)
def python(request, binary, tmp_path):
    """An interpreter with the wheel and with the torch of another one."""
    theirs = request.param()
    where = subprocess.run([theirs, "-c", "import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))"], capture_output=True, text=True, check=True)
    python = make_environment(tmp_path / "env", theirs)
    install_wheel(python, make_wheel(binary, tmp_path))
    (packages,) = tmp_path.glob("env/lib/python3*/site-packages")
    (packages / "torch_of_another.pth").write_text(where.stdout)
    return python


def lines(start, python, *words):
    result = start(*words, program=python, env={"DLAUNCH_REPLACE_TORCHRUN": "1", "PYTHON_EXEC": None}).wait(120)
    assert result.rc == 0, result.err
    return sorted(result.out.splitlines())


def test_modules_and_callers(start, python, script, tmp_path):
    show, caller = script("show.py", SHOW), script("caller.py", CALLER)
    options = ("--nproc_per_node=2", "--rdzv_id=mine", show, "x")
    assert lines(start, python, "-m", "torch.distributed.run", *options) == ["0 mine ['x']", "1 mine ['x']"]
    version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True).stdout
    option = "--local_rank" if version.startswith("1.") else "--local-rank"
    launched = lines(start, python, "-m", "torch.distributed.launch", *options)
    assert launched == [f"0 mine ['{option}=0', 'x']", f"1 mine ['{option}=1', 'x']"]
    called = lines(start, python, caller, show)
    assert [line.split(maxsplit=2)[::2] for line in called] == [["0", "['x']"], ["1", "['x']"]]
