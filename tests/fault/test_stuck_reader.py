"""Our stdout, or stderr, is still open, but nobody reads it any more: no worker's death goes unnoticed."""

import os
import signal
import time

import pytest

from processes import until

FLOOD = """if [ $RANK = 1 ]; then ready; await go; exit 9; fi
ready
yes 'a line for a reader that has stopped to read' >&$FD
"""
OPTIONS = pytest.mark.parametrize("options", [[], ["-t", "3"]], ids=["plain", "tee"])


@pytest.fixture
def stuck():
    """The write end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    yield writer
    os.close(reader)
    os.close(writer)


@OPTIONS
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_failure_ends_the_job(job, stuck, stream, options, tmp_path):
    run = job(
        FLOOD,
        "--grace=1",
        *options,
        f"--report={tmp_path}/report.json",
        env={"FD": 1 if stream == "stdout" else 2},
        **{stream: stuck},
    )
    run.ready(2)
    run.go()
    result = run.wait(20)
    run.nothing_left()
    assert result.rc == 9 and '"rank"' in (tmp_path / "report.json").read_text()


@OPTIONS
def test_a_signal_ends_it_too(job, stuck, options):
    run = job(FLOOD, "--grace=1", *options, env={"FD": 1}, stdout=stuck)
    run.ready(2)
    run.signal(signal.SIGTERM)
    assert run.wait(20).rc == 143
    run.nothing_left()


@OPTIONS
def test_a_second_interrupt_ends_it_at_once(job, stuck, options):
    run = job(FLOOD, *options, env={"FD": 1}, stdout=stuck)
    run.ready(2)
    begun = time.monotonic()
    run.signal(signal.SIGINT)
    until(lambda: not [pid for pid in run.living() if pid not in (run.pid, run.agent())], 10, "the workers' end")
    run.signal(signal.SIGINT)
    assert run.wait(10).rc == 130 and time.monotonic() - begun < 4
