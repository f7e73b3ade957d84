"""dlaunch hosts --compress folds names into one list, as SLURM's scontrol does."""

import os
import shutil
import subprocess

import pytest

LISTS = ["n1,n2,n3", "n3,n1,n2", "x1,y1,x2,y2", "gpu001,gpu002,gpu004,login", "a01,a2,a3", "n08,n09,n10", "n1,n1,n2", "n9,n10,n011"]


def test_names_fold(dlaunch):
    assert dlaunch("hosts", "--compress", "n1", "n[2-3]", "login").out == "n[1-3],login\n"


@pytest.fixture
def scontrol(tmp_path):
    """scontrol(list) -> the list as SLURM folds it; skips where SLURM is missing."""
    if not shutil.which("scontrol"):
        pytest.skip("scontrol is not installed")
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\n")
    environment = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    words = ["scontrol", "show", "hostlist"]
    return lambda names: subprocess.run([*words, names], env=environment, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("names", LISTS)
def test_slurm_folds_alike(dlaunch, scontrol, names):
    assert dlaunch("hosts", "--compress", names).out == scontrol(names)


@pytest.mark.parametrize("names", LISTS)
def test_a_folded_list_expands_to_the_same(dlaunch, names):
    folded = dlaunch("hosts", "--compress", names).out.strip()
    assert dlaunch("hosts", folded).out.splitlines() == names.split(",")
