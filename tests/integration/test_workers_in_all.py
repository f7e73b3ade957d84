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


def test_two_names_of_one_option(dlaunch):
    assert dlaunch("--nproc-per-node=4", "-n", "2", "--no-python", "printenv", "WORLD_SIZE").out == "2\n" * 2
