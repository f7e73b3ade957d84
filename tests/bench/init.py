"""From the start of the launcher to its end after one all_reduce, in milliseconds: what a short job pays.

Beside it MPICH with the same program, where libmpich-dev is there.
"""
import tempfile
import time
from pathlib import Path

from common import median, mpi_peer, parse, quiet, show


def main():
    options = parse(__doc__, repeats=15)
    with tempfile.TemporaryDirectory() as folder:
        programs = {"dlaunch": [options.build.resolve() / "bin" / "examples" / "all_reduce_sum"]}
        if peer := mpi_peer(options, Path(folder)):
            programs["hydra"] = [peer]  # without sizes: only init and finalize
        rows, result = [], {}
        for n in (2, 4):
            samples = {name: [] for name in programs}
            for _ in range(options.repeats):
                for name, program in programs.items():
                    begin = time.perf_counter()
                    quiet(options.launchers[name].words(n, *program))
                    samples[name].append((time.perf_counter() - begin) * 1e3)
            medians = result[f"{n} ranks"] = {name: median(numbers) for name, numbers in samples.items()}
            rows.append([f"{n} ranks", *(f"{ms:.1f} ms" for ms in medians.values()), *(f"{ms / medians['dlaunch']:.1f} x" for name, ms in medians.items() if name != "dlaunch")])
        header = ["start to end", *programs, *(f"{name} / dlaunch" for name in programs if name != "dlaunch")]
        show(options, f"init: medians of {options.repeats}", header, rows, result)


main()
