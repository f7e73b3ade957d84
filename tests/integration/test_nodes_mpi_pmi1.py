"""PMI-1 over several nodes: one space of keys, one barrier, one set of names; a node's failure is the job's."""

import pytest
from hosts import PORT
from pmi1 import pmi1_text


@pytest.fixture
def pmi1(hosts, script):
    """pmi1(workers of each node, text of a client) -> the Results of the nodes."""

    def pmi1_(each, text, *options):
        net = hosts(len(each))
        program = script("client", pmi1_text(text))
        runs = [
            host.start(f"--nnodes={len(each)}", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=j", f"--nproc-per-node={count}",
                       "--mpi=pmi1", *options, "--no-python", program)
            for host, count in zip(net, each)
        ]
        return [run.wait() for run in runs]

    return pmi1_


def test_keys_barriers_and_the_mapping_span_the_nodes(pmi1):
    results = pmi1([2, 1], """
pmi.init()
assert pmi.get("PMI_process_mapping") in ("(vector,(0,1,2),(1,1,1))", "(vector,(0,1,1),(1,1,2))")
for turn in range(5):
    pmi.put(f"{turn}.{rank}", str(rank) * 600)
    pmi.barrier()
    assert [pmi.get(f"{turn}.{r}") for r in range(3)] == [str(r) * 600 for r in range(3)]
pmi.finalize()
""")
    assert [result.rc for result in results] == [0, 0], results[0].err + results[1].err


def test_names_are_the_jobs(pmi1):
    results = pmi1([1, 1], """
pmi.init()
if rank == 0:
    assert " rc=0 " in pmi.ask("cmd=publish_name service=ocean port=here")
pmi.barrier()
assert pmi.ask("cmd=lookup_name service=ocean").endswith(" port=here")
pmi.barrier()
if rank == 1:
    assert " rc=0 " in pmi.ask("cmd=unpublish_name service=ocean")
pmi.barrier()
assert " rc=1 " in pmi.ask("cmd=lookup_name service=ocean")
pmi.finalize()
""")
    assert [result.rc for result in results] == [0, 0], results[0].err + results[1].err


def test_an_abort_is_the_jobs(pmi1):
    results = pmi1([1, 1], """
pmi.init()
pmi.barrier()
if rank == 1:
    pmi.send("cmd=abort exitcode=7")
pmi.send("cmd=barrier_in")
wait_for_the_end()
""")
    for result in results:
        assert result.rc == 7 and "rank 1 " in result.first_line and "MPI_Abort with 7" in result.first_line


def test_a_rank_without_mpi_on_another_node(pmi1):
    """Rank 1 exits with 0 without `cmd=init`; the rank of the other node waits for it."""
    results = pmi1([1, 1], "if rank == 1:\n    os._exit(0)\npmi.init()\npmi.send('cmd=barrier_in')\nwait_for_the_end()\n")
    for result in results:
        assert result.rc == 1 and "waits for rank 1, which exited with 0 without MPI_Init" in result.first_line


def test_a_restart_finds_all_nodes_again(pmi1):
    results = pmi1([1, 1], """
pmi.init()
pmi.put(f"k{rank}", os.environ["TORCHELASTIC_RESTART_COUNT"])
pmi.barrier()
assert [pmi.get(f"k{r}") for r in range(2)] == [os.environ["TORCHELASTIC_RESTART_COUNT"]] * 2
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    pmi.barrier()
    os._exit(rank * 4)
pmi.finalize()
""", "--max-restarts=1")
    assert [result.rc for result in results] == [0, 0], results[0].err + results[1].err
