"""`dlaunch coordinator` with a full pipe without a reader as stderr: its last message does not keep it alive."""

import os
import signal
import time

import pytest

from processes import all_pids, comm, parent, until
from running import full_pipe


def coordinators(run):
    return [pid for pid in all_pids() if parent(pid) == run.pid and comm(pid) == "dlaunch-coord"]


@pytest.fixture
def ended(start):
    """ended(stderr) -> Running of a coordinator that has received SIGTERM."""

    def ended_(stderr):
        options = ("--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0")
        run = start("coordinator", *options, stderr=stderr)
        until(lambda: "listens on" in run.out(), 10, "the start of the coordinator")
        first = run.coordinator()
        only_it = lambda: [pid for pid in all_pids() if parent(pid) == run.pid] == [first]
        until(only_it, 10, "the end of the process that started the coordinator")
        run.signal(signal.SIGTERM)
        return run, first

    return ended_


def test_it_ends_without_a_successor(ended):
    ends = full_pipe()
    run, first = ended(ends[1])
    seen = set()
    until(lambda: seen.update(coordinators(run)) or run.ended(), 15, "the end")
    assert run.wait(0).rc == 143 and run.process.returncode == -signal.SIGTERM and seen <= {first}
    run.nothing_left()
    for end in ends:
        os.close(end)


def test_a_late_reader_gets_the_message(ended):
    reader, writer = full_pipe()
    run, _ = ended(writer)
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert b"dlaunch: SIGTERM received on" in pipe.read()
    assert run.wait(10).rc == 143


def test_a_signal_at_its_very_start_is_not_lost(start):
    """The guard receives it around the exit of the process that starts the coordinator."""
    for attempt in range(10):
        run = start("coordinator", "--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0")
        until(lambda: "listens on" in run.out(), 10, "the start of the coordinator")
        time.sleep(attempt / 1000)  # moments of the signal
        run.signal(signal.SIGTERM)
        assert run.wait(10).rc == 143
        run.nothing_left()
