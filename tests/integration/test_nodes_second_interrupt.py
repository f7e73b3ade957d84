"""Ctrl-C twice at one node, which ends the job: no node waits for its workers' grace."""

import signal

import pytest

from processes import until


@pytest.mark.parametrize("which", [0, 1])
def test_all_nodes_kill_at_once(cluster, seen, which):
    job = cluster(2)
    runs = job.begin("2", "--grace=600")
    job.world(2)
    for rank in range(2):
        job.order(rank, f"trap '' INT TERM; note deaf.{rank} yes")
    until(lambda: len(list(seen.glob("deaf.*"))) == 2, 10, "the traps")
    runs[which].signal(signal.SIGINT)
    for run in runs:
        until(lambda: "SIGINT received" in run.err(), 10, "the message about SIGINT")
    runs[which].signal_again(signal.SIGINT)
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [130] * 2
    assert results[1 - which].err.count("killing") == 1, results[1 - which].err
    job.all_empty()
