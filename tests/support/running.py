"""A started dlaunch and its result."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from processes import alive, children, comm, describe, marked, until


OPEN = "dlaunch: the job is open to everybody who reaches "


def without_open_line(err):
    """All lines but the one of a job of several hosts without a token."""
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith(OPEN))


@dataclass
class Result:
    """`rc` as in subprocess: -n if signal n ended dlaunch itself."""

    rc: int
    out: str
    err: str
    seconds: float
    raw_out: bytes = b""

    def __iter__(self):
        return iter((self.rc, self.out, self.err))

    @property
    def first_line(self):
        """Of stderr, but for the line about an open job."""
        return (without_open_line(self.err).splitlines() or [""])[0]


@dataclass
class Running:
    process: subprocess.Popen
    mark: str
    folder: Path  # in which workers leave notes
    out_path: Path
    err_path: Path
    started: float = field(default_factory=time.monotonic)

    @property
    def pid(self):
        """The process that the user started: the guard."""
        return self.process.pid

    def agent(self):
        """The agent: the guard's child and the workers' parent."""
        return until(lambda: [pid for pid in children(self.pid) if comm(pid) == "dlaunch-agent"], 5, "the start of the agent")[0]

    def coordinator(self, but=()):
        """The coordinator's process, a child of the guard of the node that hosts it; none of `but`."""
        def serving():
            return [pid for pid in children(self.pid) if comm(pid) == "dlaunch-coord" and pid not in but]
        return until(serving, 10, "the start of the coordinator")[0]

    def out(self):
        return self.out_path.read_text(errors="replace")

    def err(self):
        return self.err_path.read_text(errors="replace")

    def living(self):
        return marked(self.mark)

    def signal(self, number):
        os.kill(self.pid, number)

    def signal_again(self, number):
        """A second request: the guard collects signals for a moment, so wait until it has passed the first one on."""
        time.sleep(0.03)
        self.signal(number)

    def ended(self):
        return self.process.poll() is not None

    def ready(self, count, seconds=20):
        """Waits until `count` workers have left a note RANK.ready; returns their pids by rank."""
        notes = lambda: {p.stem: p for p in self.folder.glob("*.ready")}
        until(lambda: self.ended() or len(notes()) >= count, seconds, f"the start of {count} workers")
        assert (
            not self.ended() or len(notes()) >= count
        ), f"dlaunch ended at once with {self.process.returncode}\n{self.err()[-2000:]}"
        return [int(notes()[str(rank)].read_text()) for rank in range(count)]

    def go(self, name="go"):
        (self.folder / name).touch()

    def wait(self, timeout=30):
        try:
            rc = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            output = f"--- stdout\n{self.out()[-1500:]}\n--- stderr\n{self.err()[-1500:]}\n{describe(self.living())}"
            self.end()
            pytest.fail(f"dlaunch did not end within {timeout} s\n{output}")
        rc = rc if rc not in (-signal.SIGINT, -signal.SIGTERM) else 128 - rc  # as in a shell
        return Result(rc, self.out(), self.err(), time.monotonic() - self.started, self.out_path.read_bytes())

    def nothing_left(self, seconds=0.0):
        """Asserts that all processes of this run end within `seconds`."""
        end = time.monotonic() + seconds
        while (left := self.living()) and time.monotonic() < end:
            time.sleep(0.005)
        assert not left, f"left behind: {describe(left)}"

    def end(self):
        """Kills all remaining processes of this run."""
        for _ in range(100):
            for pid in {*self.living(), *([] if self.ended() else [self.pid])}:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if self.ended() and not self.living():
                break
            time.sleep(0.005)
        self.process.wait(5)


def kill(pid, number):
    """Sends a signal to a process that may have ended already."""
    if alive(pid):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return


def full_pipe():
    """The ends of a pipe that is full."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer
