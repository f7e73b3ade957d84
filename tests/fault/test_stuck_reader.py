"""dlaunch's stdout or stderr is a full pipe without a reader: a worker's exit is handled without delay."""

import array
import fcntl
import os
import signal
import termios
import time

import pytest

from processes import until

FLOOD = """if [ $RANK = 1 ]; then ready; await go; exit 9; fi
ready
yes 'a line for a reader that has stopped to read' >&$FD
"""
FULL_BYTES = 60_000  # of 64 KiB
OPTIONS = ([], ["-t", "3"])


def waiting_in(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


@pytest.fixture
def flooded(start, shell_worker, tmp_path):
    """flooded(stream, *options) -> Running that has filled that stream, a pipe that is never read."""
    program, ends = shell_worker(FLOOD), []

    def flooded_(stream, *options):
        folder = tmp_path / "_".join([stream, *options])
        folder.mkdir()
        reader, writer = os.pipe()
        ends.extend([reader, writer])
        options = ("--nproc-per-node=2", f"--report={folder}/report.json", *options)
        env = {"FD": 1 if stream == "stdout" else 2, "SEEN": folder}
        run = start(*options, "--no-python", program, env=env, **{stream: writer})
        run.ready(2)
        until(lambda: waiting_in(reader) > FULL_BYTES, 10, "the flood")
        return run

    yield flooded_
    for end in ends:
        os.close(end)


def test_a_failure_ends_the_job(flooded):
    runs = [flooded(stream, "--grace=1", *options) for stream in ("stdout", "stderr") for options in OPTIONS]
    for run in runs:
        run.go()
    for run in runs:
        assert run.wait(20).rc == 9 and '"rank"' in (run.folder / "report.json").read_text()
        run.nothing_left()


def test_a_signal_ends_it_too(flooded):
    runs = [flooded("stdout", "--grace=1", *options) for options in OPTIONS]
    for run in runs:
        run.signal(signal.SIGTERM)
    for run in runs:
        assert run.wait(20).rc == 143
        run.nothing_left()


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "tee"])
def test_a_second_interrupt_ends_it_at_once(flooded, options):
    run = flooded("stdout", *options)
    workers = run.ready(2)
    begun = time.monotonic()
    run.signal(signal.SIGINT)
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers), 10, "the workers' end")
    run.signal_again(signal.SIGINT)
    assert run.wait(10).rc == 130 and time.monotonic() - begun < 4
