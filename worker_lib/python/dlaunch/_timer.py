"""Heartbeats and sections: deadlines that the launcher watches.

A line of JSON to the agent's FIFO sets a deadline, another one of the same scope moves or removes it. The launcher
makes the FIFO if it was started with TORCHELASTIC_ENABLE_FILE_TIMER=1.
"""

import contextlib
import datetime
import json
import math
import os
import select
import signal
import sys
import time
from typing import Iterator, Union

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
    path = os.environ.get("TORCHELASTIC_TIMER_FILE")
    if not path:
        return
    scope = scope.encode(errors="replace")[:_LONGEST_SCOPE].decode(errors="replace")
    request = {"version": 1, "pid": os.getpid(), "scope_id": scope, "expiration_time": expires, "signal": int(number)}
    line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
    try:
        # Opened for reading, too, so that a write raises no SIGPIPE when the agent closes its end.
        fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # the agent is gone
    try:
        _write_whole(fifo, line, scope)
    finally:
        os.close(fifo)


def _write_whole(fifo: int, line: bytes, scope: str) -> None:
    """Waits for space: if the end of a section is lost, the agent takes the worker for hung."""
    writable = select.poll()
    writable.register(fifo, select.POLLOUT)
    end = time.monotonic() + _WRITE_TIMEOUT
    while True:
        try:
            os.write(fifo, line)
            return
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                print(f"dlaunch: the timer file is full, section {scope} is not watched", file=sys.stderr, flush=True)
                return
            writable.poll(1000 * left)
