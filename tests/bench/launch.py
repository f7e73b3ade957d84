"""Measures n x /bin/true from start to end, compared with a bare posix_spawn loop and MPICH's launcher."""
import time

from common import floor, median, parse, quiet, show

COUNTS = (1, 8, 64, 256)


def milliseconds(words):
    start = time.perf_counter()
    status = quiet(words)
    elapsed = 1e3 * (time.perf_counter() - start)
    if status != 0:
        raise SystemExit(f"{words[0]} ended with {status}")
    return elapsed


def main():
    options = parse(__doc__, repeats=15)
    launchers = [*floor(options), *options.launchers.values()]
    result, rows = {}, []
    for n in COUNTS:
        times = {launcher.name: [] for launcher in launchers}
        for launcher in launchers:
            milliseconds(launcher.words(n, "/bin/true"))  # warms the page cache
        for _ in range(options.repeats):
            for launcher in launchers:
                times[launcher.name].append(milliseconds(launcher.words(n, "/bin/true")))
        medians = result[n] = {name: median(numbers) for name, numbers in times.items()}
        ratios = [f"{medians['dlaunch'] / medians[name]:.2f} x" for name in medians if name != "dlaunch"]
        rows.append([n, *(f"{value:.1f} ms" for value in medians.values()), *ratios])
    names = [launcher.name for launcher in launchers]
    header = ["n", *names, *(f"dlaunch/{name}" for name in names if name != "dlaunch")]
    show(options, f"launch: n x /bin/true, medians of {options.repeats}", header, rows, result)


main()
