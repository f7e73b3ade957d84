"""Facts from /proc about processes, and waiting for a condition."""

import os
import signal
import time
from pathlib import Path

MARK = "TEST_RUN_MARK"


def until(condition, seconds=10.0, what="the event"):
    """Polls condition() and returns its first true value; raises AssertionError after `seconds`."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {seconds} s"
        time.sleep(0.005)
    return value


def _stat(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
    except OSError:
        return ["X", "0", "0", "0"]


def state(pid):
    """The kernel's process state R, S, D, T, Z ...; X if there is no such process."""
    return _stat(pid)[0]


def alive(pid):
    return state(pid) not in "ZX"


def stop(pid):
    """Stops a process by SIGSTOP, and waits until it is stopped."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state(pid) == "T", 5, "the stop")


def has_blocked_thread(pid):
    """Whether a thread is in an uninterruptible call (D), as on a frozen disk."""
    stats = [stat.read_text(errors="replace") for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return any(stat.rpartition(")")[2].split()[0] == "D" for stat in stats)


def parent(pid):
    return int(_stat(pid)[1])


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children(pid):
    """Living children in the order of their start (unless pids have wrapped around)."""
    return sorted(p for p in all_pids() if parent(p) == pid and alive(p))


def comm(pid):
    """The process's name, as ps shows it; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def environment(pid):
    """The initial environment of a process; Linux shows an empty one for a moment of its execve(2)."""
    shown = until(lambda: Path(f"/proc/{pid}/environ").read_bytes(), 5, f"the environment of process {pid}")
    return dict(pair.split("=", 1) for pair in shown.decode(errors="replace").split("\0") if "=" in pair)


def marked(mark):
    """Living processes with a run's mark in their environment or, if that was cleared, in their arguments."""
    wanted, found = mark.encode(), []
    for pid in all_pids():
        if pid == os.getpid():
            continue
        try:
            if (
                wanted in Path(f"/proc/{pid}/environ").read_bytes()
                or wanted in Path(f"/proc/{pid}/cmdline").read_bytes()
            ):
                found.append(pid)
        except OSError:
            continue
    return [pid for pid in found if alive(pid)]


def describe(pids):
    return [f"{pid} ({state(pid)}): {command_line(pid)}" for pid in pids]


def opened(pipe):
    """The pipe's writing end; None until it is read."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None
