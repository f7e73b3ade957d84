"""dlaunch hosts prints the hosts of lists, one per line."""

import pytest


@pytest.mark.parametrize(
    "lists, names",
    [
        (["n1,n2,m7"], "n1 n2 m7"),
        (["node[08-10],login"], "node08 node09 node10 login"),
        (["rack[1-2]n[08-09]-ib"], "rack1n08-ib rack1n09-ib rack2n08-ib rack2n09-ib"),
        (["n[1-2]", "m", "n1"], "n1 n2 m n1"),
        (["ann@n[1-2]:4,m:2"], "ann@n1:4 ann@n2:4 m:2"),
    ],
)
def test_lists_expand(dlaunch, lists, names):
    result = dlaunch("hosts", *lists)
    assert result.rc == 0 and result.err == "" and result.out.split("\n") == [*names.split(), ""]


def test_a_hundred_thousand_names(dlaunch):
    names = dlaunch("hosts", "n[00001-100000]").out.splitlines()
    assert len(names) == 100_000 and names[0] == "n00001" and names[-1] == "n100000"


def test_help(dlaunch):
    result = dlaunch("hosts", "--help")
    assert result.rc == 0 and result.out.startswith("Usage: dlaunch hosts [--compress] LIST...\n")
    assert max(map(len, result.out.splitlines())) <= 100
