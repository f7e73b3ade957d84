"""Programs of mpi4py find their world without an option. A stand-in for mpi4py has a library of the real MPI."""

import subprocess

import pytest

PACKAGE = """
import ctypes, glob
library = ctypes.CDLL(glob.glob(__path__[0] + "/MPI.*.so")[0], ctypes.RTLD_GLOBAL)
class MPI:
    _rank = ctypes.c_int()
    size, rank = library.world(ctypes.byref(_rank)), _rank.value
    end = library.end
"""

LIBRARY = r"""
#include <mpi.h>
int world(int *rank) { int size; MPI_Init(0, 0); MPI_Comm_rank(MPI_COMM_WORLD, rank); MPI_Comm_size(MPI_COMM_WORLD, &size); return size; }
void end(void) { MPI_Finalize(); }
"""

PROGRAM = """
from mpi4py import MPI
print(f"rank {MPI.rank} of {MPI.size}", flush=True)
MPI.end()
"""


@pytest.fixture(params=[pytest.param("mpich", marks=pytest.mark.needs("mpicc.mpich")), pytest.param("openmpi", marks=pytest.mark.needs("mpicc.openmpi"))])
def packages(request, tmp_path):
    """A folder for PYTHONPATH."""
    package = tmp_path / "packages/mpi4py"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE)
    (tmp_path / "library.c").write_text(LIBRARY)
    done = subprocess.run([f"mpicc.{request.param}", "-shared", "-fPIC", "-o", package / "MPI.real.so", tmp_path / "library.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return package.parent


@pytest.mark.parametrize("front", [[], ["--launcher=fork", "--hosts=a,b"]], ids=["one_node", "two_hosts"])
@pytest.mark.parametrize("words", [["program.py"], ["python3", "program.py"], ["python3", "-uc", PROGRAM]], ids=["script", "interpreter", "code"])
def test_all_ranks_are_in_one_world(dlaunch, packages, tmp_path, front, words):
    (tmp_path / "program.py").write_text(PROGRAM)
    result = dlaunch("-n", 2, *front, *words, env={"PYTHONPATH": str(packages)}, cwd=tmp_path)
    assert result.rc == 0, result.err
    assert sorted(result.out.splitlines()) == ["rank 0 of 2", "rank 1 of 2"], result.err


def test_an_unknown_library_gets_a_line(dlaunch, tmp_path):
    (tmp_path / "program.py").write_text("try:\n    pass\nfinally:\n    pass\nimport os, mpi4py\n")
    result = dlaunch("-n", 2, "program.py", cwd=tmp_path)
    assert result.err.startswith("dlaunch: program.py imports mpi4py, whose MPI library was not found: name its protocol with --mpi=pmix"), result.err
