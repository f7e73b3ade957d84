"""Heartbeats and sections: deadlines that the launcher watches.

A line of JSON to the agent sets a deadline, another one of the same scope moves or removes it. The lines go to the FIFO
of torch's file timers, which torchrun has, too, else through a connection to the agent's socket.
"""

import contextlib
import datetime
import json
import math
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Iterator, Optional, Union

if TYPE_CHECKING:
    import socket

Seconds = Union[int, float, datetime.timedelta]

_HALF_AN_HOUR = 1800.0
_WRITE_TIMEOUT = 1.0  # seconds, for an agent that is slow to read
_LONGEST_SCOPE = 500  # bytes, each of which may be six in JSON; lines below PIPE_BUF are written as a whole


def heartbeat(within: Seconds = _HALF_AN_HOUR) -> None:
    """Promises another heartbeat() within this time (seconds or a timedelta). Otherwise the launcher kills the worker
    and reports it as hung.
    """
    _write("heartbeat", _deadline(within), signal.SIGKILL)


@contextlib.contextmanager
def section(name: str, timeout: Seconds = _HALF_AN_HOUR) -> Iterator[None]:
    """A with block, or a decorated function, that must end within `timeout`. Otherwise the launcher kills the worker
    and names the section in its report. The first end of a section ends all open sections of its name.
    """
    _write(name, _deadline(timeout), signal.SIGKILL)
    try:
        yield
    finally:
        _write(name, -1, 0)


def _deadline(after: Seconds) -> float:
    seconds = after.total_seconds() if isinstance(after, datetime.timedelta) else float(after)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"the time is {after}, expected a finite number of seconds, 0 or more")
    return round(time.time() + seconds, 3)


def _write(scope: str, expires: float, number: int) -> None:
    scope = scope.encode(errors="replace")[:_LONGEST_SCOPE].decode(errors="replace")
    request = {"version": 1, "pid": os.getpid(), "scope_id": scope, "expiration_time": expires, "signal": int(number)}
    line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
    with _lock:
        fifo = _open_fifo()
        if fifo is None:
            written = _write_socket(line)
        else:
            with open(fifo, "wb", buffering=0) as file:
                written = _write_fifo(file.fileno(), line)
    if not written:
        print(f"dlaunch: the agent does not read timers, section {scope} is not watched", file=sys.stderr, flush=True)


def _open_fifo() -> Optional[int]:
    try:
        # Opened for reading, too, so that a write raises no SIGPIPE when the agent closes its end.
        return os.open(os.environ["TORCHELASTIC_TIMER_FILE"], os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except (KeyError, OSError):
        return None


def _write_fifo(fifo: int, line: bytes) -> bool:
    """Waits for space: if the end of a section is lost, the agent takes the worker for hung."""
    writable = select.poll()
    writable.register(fifo, select.POLLOUT)
    end = time.monotonic() + _WRITE_TIMEOUT
    while True:
        try:
            os.write(fifo, line)
            return True
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                return False
            writable.poll(1000 * left)


_lock = threading.Lock()
_connection: Optional["socket.socket"] = None  # keeps the order of the lines


def _forget() -> None:
    """A child has lines of its own; the lock may have been held by another thread."""
    global _lock, _connection
    _lock, _connection = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def _write_socket(line: bytes) -> bool:
    """False: the agent does not read. True without an agent."""
    import socket  # most programs have no sections
    import struct

    global _connection
    if _connection is None:
        path = os.environ.get("DLAUNCH_AGENT_SOCKET")
        if not path:
            return True
        connection = socket.socket(socket.AF_UNIX)
        # With a timeout of Python's, connect() would fail at once while the agent's queue is full.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", int(_WRITE_TIMEOUT), 0))
        try:
            connection.connect(path)
        except OSError as error:
            connection.close()
            return not isinstance(error, BlockingIOError)  # the agent is gone
        _connection, line = connection, b"timers\n" + line
    try:
        _connection.sendall(line)
        return True
    except OSError as error:
        _connection.close()  # a part of the line may have been sent
        _connection = None
        return not isinstance(error, BlockingIOError)
