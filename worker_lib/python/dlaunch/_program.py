"""Finds the program dlaunch of this package, and replaces the process by it."""

import os
import signal
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, NoReturn, Sequence

_CANNOT_BE_EXECUTED = 127


def path() -> str:
    for candidate in _candidates():
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    package = Path(__file__).parent
    print(f"dlaunch: the program dlaunch is not installed beside the package {package}, expected that of its wheel; "
          "reinstall it with pip", file=sys.stderr)
    raise SystemExit(_CANNOT_BE_EXECUTED)


def _candidates() -> Iterator[Path]:
    packages = Path(__file__).resolve().parent.parent  # PREFIX/lib/python3.N/site-packages
    yield packages.parents[2] / "bin" / "dlaunch"
    yield packages / "bin" / "dlaunch"  # pip install --target
    yield Path(sysconfig.get_path("scripts")) / "dlaunch"


def become_torchrun(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by dlaunch under the name torchrun. Python scripts run with this interpreter, unless
    $PYTHON_EXEC names another.
    """
    program = path()
    if sys.executable and not os.environ.get("PYTHON_EXEC"):
        os.environ["PYTHON_EXEC"] = sys.executable
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # Python ignores these two, and an ignored signal stays ignored in the new program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program, ["torchrun", *arguments])
    except OSError as error:
        print(f"dlaunch: {program}: {error.strerror}", file=sys.stderr)
        raise SystemExit(_CANNOT_BE_EXECUTED) from None
