"""on_stop(): a callback for the launcher's stop signal.

Python runs signal handlers in the main thread between two bytecodes, so a main thread that waits in C code, as in a
collective, delays them. The callback has a thread of its own instead. The interpreter's C handler writes the signal's
number to a pipe at once (signal.set_wakeup_fd), and the thread waits for that. Where another library owns the wakeup
descriptor, as asyncio may, the Python handler writes to the pipe, later.
"""

import os
import signal
import sys
import threading
import traceback
from typing import Callable, List, Optional


class _Stop:
    def __init__(self) -> None:
        self.callback: Optional[Callable[[], object]] = None
        self.signals: List[int] = []
        self.requested = False
        self.reader = self.writer = -1

    def listen(self) -> None:
        """Starts the thread; once."""
        if self.reader >= 0:
            return
        self.signals = _stop_signals()
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        threading.Thread(target=self.run, name="dlaunch-on-stop", daemon=True).start()

    def handle(self, number: int, frame: object) -> None:
        """The Python handler of the stop signals."""
        self.requested = True
        self.write(number)

    def write(self, number: int) -> None:
        try:
            os.write(self.writer, bytes([number]))
        except BlockingIOError:
            return  # full of signals that the thread has not read yet

    def run(self) -> None:
        while not any(number in self.signals for number in os.read(self.reader, 64)):
            pass  # the wakeup descriptor is written for every signal that has a Python handler
        self.requested = True
        callback = self.callback
        try:
            if callback:
                callback()
        except BaseException:
            print("dlaunch: the callback of on_stop() raised", file=sys.stderr)
            traceback.print_exc()


_stop = _Stop()


def on_stop(callback: Optional[Callable[[], object]]) -> None:
    """Calls `callback` once, in a thread of its own, when the process receives SIGTERM or the signal of the launcher's
    --stop-signal, for example to write a checkpoint. The process continues afterwards; the launcher kills it after the
    grace period. None restores the default action of the signals. Call it in the main thread. A fork of the process
    starts with the default action and may call on_stop() itself.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("on_stop() was called in another thread, expected the main thread")
    _stop.callback = callback
    if callback is None:
        _restore()
        return
    _stop.listen()
    for number in _stop.signals:
        signal.signal(number, _stop.handle)
        signal.siginterrupt(number, False)  # reads and writes of the program go on
    if (other := signal.set_wakeup_fd(_stop.writer, warn_on_full_buffer=False)) not in (-1, _stop.writer):
        signal.set_wakeup_fd(other)


def is_stopping() -> bool:
    """True: a stop signal has arrived."""
    return _stop.requested


def _stop_signals() -> List[int]:
    """SIGTERM, sent after a failure of another worker, and --stop-signal, sent when the job is stopped."""
    name = os.environ.get("DLAUNCH_WORKER_STOP_SIGNAL") or "SIGTERM"
    base, plus, offset = name.partition("+")
    number = getattr(signal, base, signal.SIGTERM) + (int(offset) if plus else 0)
    return sorted({int(signal.SIGTERM), int(number)})


def _restore() -> None:
    for number in _stop.signals:
        if signal.getsignal(number) == _stop.handle:
            signal.signal(number, signal.SIG_DFL)
    if _stop.writer >= 0 and (other := signal.set_wakeup_fd(-1)) != _stop.writer:
        signal.set_wakeup_fd(other)


def _reset_in_child() -> None:
    """A forked child has no thread that would call the callback."""
    global _stop
    _restore()
    for descriptor in (_stop.reader, _stop.writer):
        if descriptor >= 0:
            os.close(descriptor)
    _stop = _Stop()


os.register_at_fork(after_in_child=_reset_in_child)
