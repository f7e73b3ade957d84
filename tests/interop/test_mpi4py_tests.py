"""mpi4py's own tests: as many pass as under the MPI's own launcher. Those of processes that MPI starts are left out."""
# ctest: timeout 600

import os
import re
import subprocess

import pytest

MODULES = "test_(cco_obj|cco_buf|group|p2p_obj|p2p_buf|request|pack|status)"
MPIS = {"mpich": ["mpiexec.mpich"], "openmpi": ["mpirun.openmpi", "--oversubscribe"]}
SEPARATELY = ["sh", "-c", 'exec "$@" 2>"$(mktemp -p "$LOGS")"', "sh"]


@pytest.fixture(scope="module", params=[pytest.param(mpi, marks=pytest.mark.needs(MPIS[mpi][0])) for mpi in MPIS])
def suite(request, tmp_path_factory):
    """The MPI, the command of the tests and their environment."""
    tests = os.environ.get("DLAUNCH_MPI4PY_TESTS")
    if not tests:
        pytest.skip("DLAUNCH_MPI4PY_TESTS names no folder with mpi4py's own tests")
    env = {"MPI4PY_MPIABI": request.param, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if request.param == "mpich":  # mpi4py knows the library by a name that Debian's does not have
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        folder = tmp_path_factory.mktemp("abi")
        (folder / "libmpi.so.12").symlink_to(re.search(r"libmpich\.so\.12 .*=> (.*)", known)[1])
        env["LD_LIBRARY_PATH"] = str(folder)
    return request.param, [*SEPARATELY, os.environ["DLAUNCH_TORCH_PYTHON"], f"{tests}/main.py", "-q", "-i", MODULES], env


def passed(folder):
    """What each rank ran and passed: [(number of tests, number of skipped ones)]."""
    texts = [log.read_text() for log in folder.iterdir()]
    return sorted(found for text in texts for found in re.findall(r"^Ran (\d+) tests in .*\n\nOK(?: \(skipped=(\d+)\))?", text, re.M))


@pytest.fixture(scope="module")
def peer(suite, tmp_path_factory):
    mpi, command, env = suite
    logs = tmp_path_factory.mktemp("logs")
    done = subprocess.run([*MPIS[mpi], "-n", "2", *command], capture_output=True, text=True, env={**os.environ, **env, "LOGS": str(logs)}, timeout=250)
    return passed(logs), done.returncode


@pytest.mark.parametrize("where", [["-n", "2"], ["--launcher=fork", "--hosts=a,b"]], ids=["a node", "two hosts"])
def test_as_many_pass(dlaunch, tmp_path, suite, peer, where):
    mpi, command, env = suite
    (tmp_path / "logs").mkdir()
    result = dlaunch(*where, f"--mpi={'pmix' if mpi == 'openmpi' else 'pmi1'}", *command, env={**env, "LOGS": tmp_path / "logs"}, timeout=250)
    found = passed(tmp_path / "logs")
    assert peer == (found, result.rc) and len(found) == 2 and int(found[0][0]) > 300, result.err
