"""An etcd with slow, lost and refused replies: the effect of a request without a reply is looked up, and the job runs on undisturbed."""

import os

import pytest

from fake_etcd import FakeEtcd
from processes import opened, until

# A claim takes four requests in a row, so that faults must leave room for it.
BEHAVIOURS = {
    "pieces": lambda number: "pieces",
    "each seventh reply is cut": lambda number: "cut" if number % 7 == 0 else "whole",
    "each seventh connection is closed": lambda number: "silent" if number % 7 == 0 else "whole",
    "each seventh request is refused": lambda number: "busy" if number % 7 == 0 else "whole",
}


@pytest.fixture
def fake():
    made = []

    def fake_(behave):
        made.append(FakeEtcd(behave))
        return made[-1]

    yield fake_
    for each in made:
        each.close()


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_two_nodes_meet_and_leave_nothing(start, fake, tmp_path, behaviour):
    etcd = fake(BEHAVIOURS[behaviour])
    words = ["--nnodes=2", f"--rdzv-endpoint={etcd.endpoint}", "--rdzv-id=job"]
    pipes = [tmp_path / "first", tmp_path / "second"]
    for pipe in pipes:
        os.mkfifo(pipe)
    runs = [start(*words, "sh", "-c", 'read -r line < "$0"; echo "$RANK of $WORLD_SIZE"', pipe) for pipe in pipes]
    writers = [until(lambda pipe=pipe: opened(pipe), 30, "a worker") for pipe in pipes]
    before = etcd.requests
    until(lambda: etcd.requests > before + 12, 30, "some renewals")
    for writer in writers:
        os.close(writer)
    results = [run.wait(30) for run in runs]
    assert [result.rc for result in results] == [0, 0], [result.err for result in results]
    assert sorted(result.out for result in results) == ["0 of 2\n", "1 of 2\n"]
    assert not etcd.keys or behaviour == "each seventh request is refused"


def test_a_claim_whose_reply_is_lost_is_known(start, fake):
    """The first transaction is carried out, and its reply is cut."""
    etcd = fake(lambda number: "cut" if number == 4 else "whole")
    words = ["--nnodes=1:2", f"--rdzv-endpoint={etcd.endpoint}", "--rdzv-id=job", "--rdzv-conf=last_call_timeout=0.1", "true"]
    result = start(*words).wait(30)
    assert result.rc == 0, result.err
    assert etcd.revision >= 3 and not etcd.keys
