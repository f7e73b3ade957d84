"""Measures the time from the failure of one worker to the SIGTERM of the others."""
import os
import tempfile
from pathlib import Path

from common import median, parse, quiet, show


def delay_ms(launcher, probe):
    """Milliseconds from one worker's exit to the other's SIGTERM; None without a SIGTERM."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(Path(folder, "ready"))
        quiet(launcher.words(2, probe, folder))
        died, stopped = Path(folder, "died"), Path(folder, "stopped")
        return (int(stopped.read_text()) - int(died.read_text())) / 1e6 if died.exists() and stopped.exists() else None


def main():
    options = parse(__doc__, repeats=25)
    delays = {name: [] for name in options.launchers}
    silent = set()
    for _ in range(options.repeats):
        for name, launcher in options.launchers.items():
            if name in silent:
                continue
            delay = delay_ms(launcher, options.programs / "exit_probe")
            if delay is None:
                silent.add(name)
            else:
                delays[name].append(delay)
    result = {name: {"median_ms": median(times), "worst_ms": max(times, default=None)} for name, times in delays.items()}
    rows = [[name, *("never" if ms is None else f"{ms:.2f} ms" for ms in times.values())] for name, times in result.items()]
    title = f"exit: a worker's end to its peer's SIGTERM, {options.repeats} times"
    show(options, title, ["", "median", "worst"], rows, result)


main()
