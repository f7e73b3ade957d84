"""Error records. The launcher's report quotes them."""

import faulthandler
import functools
import json
import os
import sys
import time
import traceback
from typing import Any, Callable, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def record(function: Function) -> Function:
    """Decorates a worker's main function: an exception that leaves it is written to the worker's error file
    ($TORCHELASTIC_ERROR_FILE, in the format of torch's record), and then raised as usual. SystemExit and
    KeyboardInterrupt are not recorded. A fatal signal prints the stacks of all threads on stderr (faulthandler).
    """

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        _print_stacks_of_fatal_signals()
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded  # type: ignore[return-value]


def _print_stacks_of_fatal_signals() -> None:
    if faulthandler.is_enabled():
        return
    try:
        faulthandler.enable(all_threads=True)
    except (AttributeError, OSError, RuntimeError, ValueError):
        return  # stderr is closed, or an object without a descriptor


def _text(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an exception's __str__ may fail, too
        return f"{type(error).__name__}: an exception without a text"


def _write(error: Exception) -> None:
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    info = {"py_callstack": stack, "timestamp": str(int(time.time()))}
    try:
        with open(path, "w", encoding="ascii") as file:
            json.dump({"message": {"message": _text(error), "extraInfo": info}}, file)
    except OSError as failed:
        print(f"dlaunch: cannot write the error file {path}: {failed.strerror}", file=sys.stderr, flush=True)
