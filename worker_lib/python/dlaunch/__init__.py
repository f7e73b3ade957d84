"""The interface between a worker and its launcher: error records, heartbeats, restarts, stops.

Without a launcher every function works and has no effect outside the process. The page dlaunch-python(7) describes the
module; the C++ library has the same functions.
"""

import os

from ._record import record
from ._stop import is_stopping, on_stop
from ._timer import heartbeat, section

__all__ = ["heartbeat", "is_stopping", "on_stop", "record", "restart_count", "section"]


def restart_count() -> int:
    """The number of restarts of the job so far: 0 in the first attempt."""
    text = os.environ.get("TORCHELASTIC_RESTART_COUNT") or "0"
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"TORCHELASTIC_RESTART_COUNT is {text!r}, expected a number") from None


def __getattr__(name):
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # slow to import

    return version("dlaunch")
