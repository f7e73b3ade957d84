"""-n N and -np N: so many workers in all, as mpiexec counts them."""

import pytest


@pytest.mark.parametrize("words", [["-n", "3"], ["-n3"], ["-np", "3"], ["-np=3"], ["--np=3"]])
def test_on_one_node(dlaunch, words):
    result = dlaunch(*words, "--no-python", "printenv", "WORLD_SIZE")
    assert result.rc == 0 and result.out == "3\n" * 3


def test_on_several_nodes_each_gets_as_many(dlaunch):
    assert '"workers_per_node": 2' in dlaunch("-n", "4", "--nnodes=2", "--dry-run", "--no-python", "true").out
    result = dlaunch("-n", "3", "--nnodes=2", "--no-python", "true")
    assert result.rc == 2 and result.err.startswith("dlaunch: -n 3: expected a multiple of 2, the number of nodes")


def test_the_total_and_the_number_per_node_contradict_each_other(dlaunch):
    result = dlaunch("--nproc-per-node=4", "-n", "2", "--no-python", "true")
    assert result.rc == 2 and result.err.endswith("expected one of -n and --nproc-per-node\n"), result.err
    result = dlaunch("-n", "2", "--no-python", "printenv", "WORLD_SIZE", env={"PET_NPROC_PER_NODE": "4"})
    assert result.out == "2\n" * 2, "the command line precedes variables"
