"""all_reduce of floats through the library (shm, tcp and gloo) beside OpenMPI (its defaults, and its best known settings), MPICH,
Gloo by itself, Debian's torch on gloo, and one memcpy of as many bytes, in microseconds.

Each figure is the median over iterations of the slowest rank, then over rounds, in which all take turns. Ranks above the
number of cores are oversubscribed: those figures show the cost of waiting. What is not installed is left out, and named.
"""
import subprocess
import tempfile
from pathlib import Path

from common import gloo_peer, has_torch, median, mpi_peers, parse, show

SIZES = [8, 1024, 65536, 1 << 20, 16 << 20, 64 << 20]
RATIOS = [("gloo", "raw gloo"), ("raw gloo", "tcp"), ("openmpi tcp", "tcp")]  # in addition to the ratios to shm
TORCH = """
import sys, time, statistics, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
for size in map(int, sys.argv[1:]):
    data, times = torch.ones(size // 4), []
    for i in range(200 if size <= 65536 else 20 if size <= 1 << 20 else 7):
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(data, dist.ReduceOp.MAX)
        t = torch.tensor([time.perf_counter() - begin])
        dist.all_reduce(t, dist.ReduceOp.MAX)
        times.append(t.item() * 1e6)
    if dist.get_rank() == 0:
        print(f"{size},{statistics.median(times):.2f}", flush=True)
"""


def lines(words, most_seconds=300):
    """Runs a program that prints sizes and times; returns size -> microseconds."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=most_seconds)
    if done.returncode != 0:
        raise SystemExit(f"{words[0]}: {done.stderr}")
    rows = [line.split(",") for line in done.stdout.splitlines() if line and line[0].isdigit()]
    return {int(row[0]): float(row[1]) for row in rows}


def ours(options, backend):
    program = options.build.resolve() / "bin" / "examples" / "collective_bench"

    def measure(n):
        found = {}
        for size in SIZES:
            words = [program, "--csv", f"--backend={backend}", f"--bytes={size}"]
            found |= lines(options.launchers["dlaunch"].words(n, *words))
        return found
    return measure


def raw_gloo(options, program):
    def measure(n):
        with tempfile.TemporaryDirectory() as folder:  # Gloo's file store needs a new folder
            return lines(options.launchers["dlaunch"].words(n, program, folder, *SIZES))
    return measure


def peers(options, folder):
    """name -> function that measures it with n ranks."""
    found = {name: ours(options, name) for name in ("shm", "tcp", "gloo")}
    for name, (launcher, program) in mpi_peers(options, folder).items():
        found[name] = lambda n, launcher=launcher, program=program: lines(launcher.words(n, program, *SIZES))
    if program := gloo_peer(options):
        found["raw gloo"] = raw_gloo(options, program)
    if has_torch():
        (folder / "peer.py").write_text(TORCH)
        words = ["/usr/bin/python3", folder / "peer.py", *SIZES]
        found["torch gloo"] = lambda n: lines(options.launchers["dlaunch"].words(n, *words))
    found["memcpy"] = lambda n: lines([options.programs / "copy", *SIZES])
    return found


def main():
    options = parse(__doc__, repeats=3)
    rows, result = [], {}
    with tempfile.TemporaryDirectory() as folder:
        measures = peers(options, Path(folder))
        ratios = [(name, "shm") for name in measures if name != "shm"] + [pair for pair in RATIOS if {*pair} <= {*measures}]
        for n in (2, 4):
            samples = {name: {size: [] for size in SIZES} for name in measures}
            for _ in range(options.repeats):
                for name, measure in measures.items():
                    for size, us in measure(n).items():
                        samples[name][size].append(us)
            for size in SIZES:
                medians = result[f"{n} ranks, {size} B"] = {name: median(samples[name][size]) for name in measures}
                rows.append([f"{n} ranks, {size} B", *(f"{us:,.2f}" for us in medians.values()),
                             *(f"{medians[a] / medians[b]:.2f} x" for a, b in ratios)])
    header = ["all_reduce", *measures, *(f"{a} / {b}" for a, b in ratios)]
    show(options, f"all_reduce: microseconds, medians of {options.repeats}", header, rows, result)


main()
