"""Only the coordinator and three standbys send requests to etcd while a job runs, however many nodes it has."""

import os

import pytest

from fake_etcd import FakeEtcd
from processes import opened, until


@pytest.fixture
def etcd():
    made = FakeEtcd()
    yield made
    made.close()


def test_six_nodes_have_four_connections(start, etcd, tmp_path):
    pipes = [tmp_path / str(number) for number in range(6)]
    for pipe in pipes:
        os.mkfifo(pipe)
    words = ["--nnodes=6", f"--rdzv-endpoint={etcd.endpoint}", "--rdzv-id=job"]
    runs = [start(*words, "sh", "-c", 'read -r line < "$0"; true', pipe) for pipe in pipes]
    writers = [until(lambda pipe=pipe: opened(pipe), 30, "a worker") for pipe in pipes]
    before = etcd.requests + 30  # the last looks of nodes that were standbys before all had joined
    until(lambda: etcd.requests > before + 60, 60, "some looks at the claim")
    asking = set(etcd.clients[before:])
    for writer in writers:
        os.close(writer)
    assert [run.wait(30).rc for run in runs] == [0] * 6
    assert len(asking) == 4, asking
