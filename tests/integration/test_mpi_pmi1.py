"""PMI-1 as its clients see it: keys, barriers, names, and how a job of such clients ends."""

import json

import pytest
from pmi1 import pmi1_text


@pytest.fixture
def pmi1(dlaunch, script):
    """pmi1(workers, text of a client, *options) -> Result."""

    def pmi1_(workers, text, *options, **more):
        program = script("client", pmi1_text(text))
        return dlaunch("-n", workers, "--mpi=pmi1", *options, program, **more)

    return pmi1_


def test_keys_are_seen_after_a_barrier(pmi1):
    result = pmi1(3, """
pmi.init()
pmi.put(f"key{rank}", f"value={rank}")
pmi.barrier()
assert [pmi.get(f"key{r}") for r in range(3)] == [f"value={r}" for r in range(3)]
assert pmi.get("other") is None
assert pmi.get("PMI_process_mapping") == "(vector,(0,1,3))"
pmi.finalize()
""")
    assert result.rc == 0, result.err


def test_names_are_published(pmi1):
    result = pmi1(2, """
pmi.init()
if rank == 0:
    assert " rc=0 " in pmi.ask("cmd=publish_name service=ocean port=here")
pmi.barrier()
assert pmi.ask("cmd=lookup_name service=ocean").endswith(" port=here")
assert " rc=1 " in pmi.ask("cmd=lookup_name service=sea")
pmi.finalize()
""")
    assert result.rc == 0, result.err


def test_a_name_is_published_once_and_may_have_blanks(pmi1):
    result = pmi1(1, """
pmi.init()
assert " rc=0 " in pmi.ask("cmd=publish_name service=the ocean port=here")
assert " rc=1 " in pmi.ask("cmd=publish_name service=the ocean port=there")
assert " rc=1 " in pmi.ask("cmd=publish_name service=the sea port=not here")
assert " rc=1 " in pmi.ask("cmd=lookup_name service=the")
assert pmi.ask("cmd=lookup_name service=the ocean").endswith(" port=here")
assert " rc=0 " in pmi.ask("cmd=unpublish_name service=the ocean")
assert " rc=1 " in pmi.ask("cmd=unpublish_name service=the ocean")
pmi.finalize()
""")
    assert result.rc == 0, result.err


def test_only_the_promised_descriptor_and_variables(pmi1):
    """What another starter left in dlaunch's environment does not come through."""
    stale = {"PMI_PORT": "nowhere:1", "PMI_ID": 5, "PMIX_NAMESPACE": "old", "OMPI_COMM_WORLD_RANK": 5, "PMIX_MCA_gds": "hash"}
    result = pmi1(1, """
print([n for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n) and int(n) > 2] == [os.environ["PMI_FD"]])
print(*sorted(name for name in os.environ if name.startswith(("PMI", "MPI_", "OMPI_"))))
""", env=stale)
    assert result.out.splitlines() == ["True", "MPI_LOCALNRANKS MPI_LOCALRANKID PMIX_MCA_gds PMI_FD PMI_RANK PMI_SIZE"]


def test_an_abort_is_the_cause_and_its_code_the_jobs(pmi1, tmp_path):
    result = pmi1(3, """
pmi.init()
pmi.barrier()
if rank == 1:
    pmi.send("cmd=abort exitcode=7")
    os._exit(9)
pmi.send("cmd=barrier_in")
wait_for_the_end()
""", f"--report={tmp_path}/report.json")
    assert result.rc == 7
    assert "rank 1 " in result.first_line and "called MPI_Abort with 7" in result.first_line
    first = json.loads((tmp_path / "report.json").read_text())["failures"][0]
    assert (first["rank"], first["how"], first["code"], first["text"]) == (1, "judged", 7, "called MPI_Abort with 7")


def test_an_exit_with_0_before_finalize_is_a_failure(pmi1):
    result = pmi1(2, "pmi.init()\nif rank == 0:\n    os._exit(0)\nwait_for_the_end()\n")
    assert result.rc == 1
    assert "rank 0 " in result.first_line and "exited with 0 before MPI_Finalize" in result.first_line


def test_a_code_after_finalize_counts(pmi1):
    assert pmi1(2, "pmi.init()\npmi.finalize()\nos._exit(3 * rank)\n").rc == 3


def test_a_barrier_without_a_rank_that_ended(pmi1):
    result = pmi1(2, "if rank == 1:\n    os._exit(0)\npmi.init()\npmi.send('cmd=barrier_in')\nwait_for_the_end()\n")
    assert result.rc == 1
    assert "rank 1 " in result.first_line and "without MPI_Init" in result.first_line


def test_a_client_that_speaks_something_else(pmi1):
    result = pmi1(2, """
if rank == 1:
    pmi.send("GET / HTTP/1.1")
wait_for_the_end()
""")
    assert result.rc == 1
    assert "rank 1 " in result.first_line and "no PMI-1 request" in result.first_line


def test_spawn_is_refused_with_a_line(pmi1):
    result = pmi1(1, """
pmi.init()
assert " rc=-1" in pmi.ask("mcmd=spawn\\nnprocs=1\\nexecname=/bin/true\\ntotspawns=1\\nspawnssofar=1\\nendcmd")
pmi.finalize()
""")
    assert result.rc == 0 and "rank 0 called MPI_Comm_spawn" in result.first_line


def test_a_restart_has_a_fresh_space(pmi1):
    result = pmi1(2, """
pmi.init()
assert pmi.get("old") is None
pmi.barrier()
pmi.put("old", "1")
pmi.barrier()
print(os.environ["TORCHELASTIC_RESTART_COUNT"], pmi.space, flush=True)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    pmi.barrier()
    os._exit(4)
pmi.finalize()
""", "--max-restarts=1")
    assert result.rc == 0, result.err
    names = dict(line.split() for line in result.out.splitlines())
    assert set(names) == {"0", "1"} and names["0"] != names["1"]
