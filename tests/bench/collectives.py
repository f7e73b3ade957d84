"""all_reduce of floats through the library (shm and gloo) beside MPICH and Debian's torch on gloo, in microseconds.

Each figure is the median over iterations of the slowest rank, then over rounds. Ranks above the number of cores are
oversubscribed: those figures show how everybody waits. MPICH needs libmpich-dev, torch /usr/bin/python3 with python3-torch.
"""
import subprocess
import tempfile
from pathlib import Path

from common import median, mpi_peer, parse, show

SIZES = [8, 1024, 65536, 1 << 20, 16 << 20, 64 << 20]
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
    """size -> microseconds, of a program that prints both."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=most_seconds)
    if done.returncode != 0:
        raise SystemExit(f"{words[0]}: {done.stderr}")
    rows = [line.split(",") for line in done.stdout.splitlines() if line and line[0].isdigit()]
    return {int(row[0]): float(row[1]) for row in rows}


def peers(options, folder):
    """name -> what it measures with n ranks."""
    dlaunch = options.launchers["dlaunch"]
    program = options.build.resolve() / "bin" / "examples" / "collective_bench"

    def ours(backend):
        def measure(n):
            found = {}
            for size in SIZES:
                found |= lines(dlaunch.words(n, program, "--csv", f"--backend={backend}", f"--bytes={size}"))
            return found
        return measure

    found = {"shm": ours("shm"), "gloo": ours("gloo")}
    if peer := mpi_peer(options, folder):
        found["mpich"] = lambda n: lines(options.launchers["hydra"].words(n, peer, *SIZES))
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0:
        (folder / "peer.py").write_text(TORCH)
        found["torch gloo"] = lambda n: lines(dlaunch.words(n, "/usr/bin/python3", folder / "peer.py", *SIZES))
    return found


def main():
    options = parse(__doc__, repeats=3)
    rows, result = [], {}
    with tempfile.TemporaryDirectory() as folder:
        measures = peers(options, Path(folder))
        for n in (2, 4):
            samples = {name: {size: [] for size in SIZES} for name in measures}
            for _ in range(options.repeats):
                for name, measure in measures.items():
                    for size, us in measure(n).items():
                        samples[name][size].append(us)
            for size in SIZES:
                medians = result[f"{n} ranks, {size} B"] = {name: median(samples[name][size]) for name in measures}
                rows.append([f"{n} ranks, {size} B", *(f"{us:,.2f}" for us in medians.values()),
                             *(f"{us / medians['shm']:.1f} x" for name, us in medians.items() if name != "shm")])
    header = ["all_reduce", *measures, *(f"{name} / shm" for name in measures if name != "shm")]
    show(options, f"all_reduce: microseconds, medians of {options.repeats}", header, rows, result)


main()
