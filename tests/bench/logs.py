"""Measures lines per second from four workers to one console, with prefixes and log files, compared with cat."""
import subprocess
import tempfile
import time
from pathlib import Path

from common import median, parse, quiet, show

RANKS, LINES = 4, 500_000
LINE = "step {} loss 0.12345678 tokens/s 123456.7 grad norm 1.234\n"


class Cat:
    """The lower bound: four writers, one pipe, one reader; no prefixes, no files, split lines."""

    def words(self, n, *_, text):
        return ["sh", "-c", f"for i in $(seq {n}); do cat '{text}' & done | cat; wait"]


def rate(words, out):
    """Million lines per second that reach the console, here a file."""
    with out.open("wb") as console:
        start = time.perf_counter()
        status = quiet(words, stdout=console)
        seconds = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{words[0]} ended with {status}")
    copied = out.read_bytes().count(b"\n")
    if copied != LINES * RANKS:
        raise SystemExit(f"{words[0]}: {copied} of {LINES * RANKS} lines arrived")
    return copied / seconds / 1e6


def main():
    options = parse(__doc__, repeats=5)
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder, "text"), Path(folder, "out")
        text.write_text("".join(LINE.format(i) for i in range(LINES)))
        commands = {"cat": lambda turn: Cat().words(RANKS, text=text)}
        for name, launcher in options.launchers.items():
            extra = ["--tee=3", f"--log-dir={folder}/logs-{{}}"] if name == "dlaunch" else []
            commands[name] = lambda turn, launcher=launcher, extra=extra: launcher.words(
                RANKS, "/bin/cat", text, options=[word.format(turn) for word in extra])
        rates = {name: [] for name in commands}
        for turn in range(options.repeats):
            for name, command in commands.items():
                rates[name].append(rate(command(turn), out))
            subprocess.run(["rm", "-rf", f"{folder}/logs-{turn}"], check=True)
    result = {name: median(numbers) for name, numbers in rates.items()}
    rows = [[name, f"{value:.2f} M lines/s", "prefix and files" if name == "dlaunch" else "neither prefix nor files"]
            for name, value in result.items()]
    show(options, f"logs: {RANKS} x {LINES} lines, medians of {options.repeats}", ["", "median", "with"], rows, result)


main()
