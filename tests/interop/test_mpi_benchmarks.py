"""Unmodified benchmarks of MPI, as Debian has them: all that they check and measure under their own mpirun."""

import os
import subprocess

import pytest

FEW = ["-u", "4096", "-n", "5"]
HPCC = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HOSTS = ["--launcher=fork", "--hosts=a,b"]


def sizes(text):
    return [line.split()[1] for line in text.splitlines() if " bytes " in line and "-->" in line]


@pytest.mark.parametrize("where", [["-n", "2"], HOSTS], ids=["a node", "two hosts"])
@pytest.mark.parametrize("program,mpirun", [
    pytest.param("NPopenmpi", ["mpirun.openmpi", "--oversubscribe"], marks=pytest.mark.needs("NPopenmpi", "mpirun.openmpi")),
    pytest.param("NPmpich2", ["mpiexec.mpich"], marks=pytest.mark.needs("NPmpich2", "mpiexec.mpich"))], ids=["Open MPI", "MPICH"])
def test_netpipe(dlaunch, tmp_path, program, mpirun, where):
    words = [program, "-o", str(tmp_path / "out"), *FEW]
    peer = subprocess.run([*mpirun, "-n", "2", *words], capture_output=True, text=True, env={**os.environ, **AS_ROOT}, timeout=100)
    result = dlaunch(*where, *words, timeout=100)
    expected = sizes(peer.stdout + peer.stderr)
    assert expected and result.rc == peer.returncode == 0 and sizes(result.out + result.err) == expected, result.err


@pytest.mark.needs("hpcc")
def test_hpcc(dlaunch, tmp_path):
    """Two hosts of two ranks: each of its checks passes."""
    if not os.path.exists(HPCC):
        pytest.skip(f"Debian's documentation is not installed: {HPCC}")
    lines = open(HPCC).read().splitlines()
    for at, number in ((5, 200), (10, 2), (11, 2)):  # size of the problem, rows and columns of ranks
        lines[at] = f"{number} {lines[at]}"
    (tmp_path / "hpccinf.txt").write_text("\n".join(lines) + "\n")
    result = dlaunch("--launcher=fork", "--hosts=a:2,b:2", "hpcc", cwd=tmp_path, env={"OMPI_MCA_mpi_yield_when_idle": "1"}, timeout=200)
    found = (tmp_path / "hpccoutf.txt").read_text()
    assert result.rc == 0 and "Success=1" in found and "FAILED" not in found, result.err
    assert "0 tests completed and failed residual checks" in found and "CommWorldProcs=4" in found
