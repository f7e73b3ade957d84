"""Collectives of floats through the library (shm, tcp and gloo) beside OpenMPI (its defaults, and its best known settings),
MPICH and one memcpy of as many bytes, in microseconds; all_reduce also beside Gloo by itself and Debian's torch on gloo.

Each figure is the median over iterations of the slowest rank, then over rounds, in which all take turns. Ranks above the
number of cores are oversubscribed: those figures show the cost of waiting. What is not installed is left out, and named.
Below each table: shm against the best of the MPI libraries, in the geometric mean of all sizes, and where it is slower.
"""
import math
import subprocess
import tempfile
from pathlib import Path

from common import gloo_peer, has_torch, median, mpi_peers, parse, show

SIZES = [8, 1024, 65536, 1 << 20, 16 << 20, 64 << 20]
OPS = ["all_reduce", "reduce", "broadcast", "gather", "scatter", "all_gather", "reduce_scatter", "all_to_all", "send_recv",
       "barrier"]
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


def ours(options, backend, op):
    program = options.build.resolve() / "bin" / "examples" / "collective_bench"

    def measure(n):
        found = {}
        for size in options.sizes:
            words = [program, "--csv", f"--op={op}", f"--backend={backend}", f"--bytes={size}"]
            _, found[size] = lines(options.launchers["dlaunch"].words(n, *words)).popitem()
        return found
    return measure


def raw_gloo(options, program):
    def measure(n):
        with tempfile.TemporaryDirectory() as folder:  # Gloo's file store needs a new folder
            return lines(options.launchers["dlaunch"].words(n, program, folder, *options.sizes))
    return measure


def peers(options, mpi, folder, op):
    """name -> function that measures it with n ranks."""
    found = {name: ours(options, name, op) for name in options.backends}
    for name, (launcher, program) in mpi.items():
        found[name] = lambda n, launcher=launcher, program=program: lines(
            launcher.words(n, program, "--op", op, *options.sizes))
    if op == "all_reduce" and (program := gloo_peer(options)):
        found["raw gloo"] = raw_gloo(options, program)
    if op == "all_reduce" and has_torch():
        (folder / "peer.py").write_text(TORCH)
        words = ["/usr/bin/python3", folder / "peer.py", *options.sizes]
        found["torch gloo"] = lambda n: lines(options.launchers["dlaunch"].words(n, *words))
    if op != "barrier" and (options.programs / "copy").exists():
        found["memcpy"] = lambda n: lines([options.programs / "copy", *options.sizes])
    return found


def against_the_best(figures, mpi):
    """"shm against the best MPI: 1.84 x as fast; slower: ..." of what -> name -> microseconds."""
    ratios = {what: min(us[name] for name in mpi) / us["shm"] for what, us in figures.items()}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slower = [f"{what} {ratio:.2f} x" for what, ratio in ratios.items() if ratio < 0.95]
    return f"shm against the best MPI: {mean:.2f} x as fast; slower by more than 5 %: {', '.join(slower) or 'nowhere'}\n"


def compare(options, mpi, folder, op):
    measures = peers(options, mpi, folder, op)
    ratios = [(name, "shm") for name in measures if name != "shm" and "shm" in measures]
    ratios += [pair for pair in RATIOS if {*pair} <= {*measures}]
    rows, figures = [], {}
    for n in options.ranks:
        samples = {name: {size: [] for size in options.sizes} for name in measures}
        for _ in range(options.repeats):
            for name, measure in measures.items():
                for size, us in measure(n).items():
                    samples[name][size].append(us)
        for size in options.sizes[:1 if op == "barrier" else None]:
            what = f"{n} ranks" if op == "barrier" else f"{n} ranks, {size} B"
            medians = figures[what] = {name: median(samples[name][size]) for name in measures}
            rows.append([what, *(f"{us:,.2f}" for us in medians.values()),
                         *(f"{medians[a] / medians[b]:.2f} x" for a, b in ratios)])
    return [op, *measures, *(f"{a} / {b}" for a, b in ratios)], rows, figures


def numbers(text):
    return [int(number) for number in text.split(",")]


def add(parser):
    parser.add_argument("--ops", default="all_reduce", help="with commas, or all (default %(default)s)")
    parser.add_argument("--ranks", type=numbers, default=[2, 4], help="with commas (default 2,4)")
    parser.add_argument("--sizes", type=numbers, default=SIZES, help="bytes of a rank's buffer, with commas")
    parser.add_argument("--backends", default="shm,tcp,gloo", help="of the library (default %(default)s)")


def main():
    options = parse(__doc__, repeats=3, add=add)
    options.backends = options.backends.split(",")
    ops = OPS if options.ops == "all" else options.ops.split(",")
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        mpi = mpi_peers(options, Path(folder))
        near = [name for name in mpi if name != "openmpi tcp"]
        for op in ops:
            header, rows, figures = compare(options, mpi, Path(folder), op)
            result[op] = figures
            show(options, f"{op}: microseconds, medians of {options.repeats}", header, rows, result)
            if near and "shm" in options.backends:
                print(against_the_best(figures, near), flush=True)


main()
