"""A process stopped as under a debugger: SIGCONT does not wake it, and only SIGKILL ends it (ptrace(2))."""

import ctypes
import os
from contextlib import contextmanager
from pathlib import Path

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_EVERY_THREAD = 0x40000000  # __WALL
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None):
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of {thread}")


@contextmanager
def traced(pid):
    """Stops every thread of the process until the end of the block; reaps it there if it has been killed."""
    threads = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    for thread in threads:
        _ptrace(_SEIZE, thread)
        _ptrace(_INTERRUPT, thread)
        os.waitpid(thread, _EVERY_THREAD)
    try:
        yield
    finally:
        for thread in sorted(threads, key=lambda thread: thread == pid):  # the kernel reports the leader last
            try:
                _ptrace(_DETACH, thread)
            except OSError:  # killed
                try:
                    os.waitpid(thread, _EVERY_THREAD)
                except ChildProcessError:
                    pass  # as every thread but the leader


def unread_signals(pid):
    """The mask of the signals that wait for the process (proc(5), ShdPnd)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("ShdPnd")), 16)
