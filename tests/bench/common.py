"""Shared by the benchmarks: the launchers to compare, the description of the machine, the output.

Every benchmark starts all launchers in turn, round after round in one run, so that a busy moment of the machine
hits all of them alike, and shows medians and ratios.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
from pathlib import Path


class Launcher:
    """A way to start n copies of a program: `words(n, *program)` is its command line."""

    def __init__(self, name, *front, program=()):
        self.name, self.front, self.program = name, front, program

    def words(self, n, *program, options=()):
        front = [str(word).replace("{n}", str(n)) for word in self.front]
        return [*front, *map(str, options), *self.program, *map(str, program)]


def parse(text, repeats, add=lambda parser: None):
    """Parses the options of every benchmark, and those that `add` defines; the result has `.launchers` by name."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="folder of the build to measure")
    parser.add_argument("--repeats", type=int, default=repeats, help="rounds (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    add(parser)
    options = parser.parse_args()
    programs = options.build.resolve() / "bin"
    options.programs = programs / "bench"
    options.launchers = {"dlaunch": Launcher("dlaunch", programs / "dlaunch", "--standalone", "--nproc-per-node={n}",
                                             program=["--no-python"])}
    hydra = shutil.which("mpiexec.hydra")
    if hydra:
        options.launchers["hydra"] = Launcher("hydra", hydra, "-n", "{n}")
    return options


def floor(options):
    """The bare loop of posix_spawn, for benchmarks of launching only; none, with a printed reason, if it was not built."""
    program = options.programs / "floor"
    if not program.exists():
        print("without floor: cmake --build BUILD --target bench_programs makes it")
        return []
    return [Launcher("floor", program, "{n}")]


# The best settings for large messages in reference measurements: no cross-memory attach, no page faults in malloc.
TUNED = ["--mca", "btl_vader_single_copy_mechanism", "none",
         "-x", f"MALLOC_MMAP_THRESHOLD_={1 << 30}", "-x", f"MALLOC_TRIM_THRESHOLD_={1 << 30}"]
# As between hosts.
OVER_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]


def mpi_peers(options, folder):
    """name -> (launcher, mpi_collectives.c built with that MPI's compiler); prints why one is missing."""
    openmpi = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "{n}"]
    ways = {"mpich": ("mpicc.mpich", ["mpiexec.hydra", "-n", "{n}"], "mpich and libmpich-dev"),
            "openmpi": ("mpicc.openmpi", openmpi, "openmpi-bin and libopenmpi-dev"),
            "openmpi tuned": ("mpicc.openmpi", [*openmpi, *TUNED], "openmpi-bin and libopenmpi-dev"),
            "openmpi tcp": ("mpicc.openmpi", [*openmpi, *OVER_TCP], "openmpi-bin and libopenmpi-dev")}
    peers = {}
    for name, (compiler, front, packages) in ways.items():
        program = folder / f"mpi_collectives.{compiler}"
        words = [compiler, "-O2", Path(__file__).parent / "mpi_collectives.c", "-o", program]
        if shutil.which(compiler) and shutil.which(front[0]) and subprocess.run(words, capture_output=True).returncode == 0:
            peers[name] = Launcher(name, *front), program
        else:
            print(f"without {name}: {packages} are needed")
    return peers


def gloo_peer(options):
    """The program that uses Gloo directly; None, with a printed reason, if it was not built."""
    program = options.programs / "gloo_collectives"
    if program.exists():
        return program
    print("without raw gloo: libgloo-dev is needed")
    return None


def has_torch():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0


def quiet(words, stdout=subprocess.DEVNULL, most_seconds=300):
    """Runs a launcher with empty input and discarded output; returns its status.

    The wait blocks. subprocess's own time-out would poll, at 0.5, 1.5, 3.5 ... 63.5, 113.5 ms, and every duration that is
    measured around it would be one of these; an alarm takes its place.
    """
    job = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=stdout,
                           stderr=subprocess.DEVNULL)
    signal.signal(signal.SIGALRM, lambda *_: job.terminate())
    signal.alarm(most_seconds)
    try:
        return job.wait()
    finally:
        signal.alarm(0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def machine():
    """The first line of every table: a description of the machine."""
    about = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in about if line.startswith("model name")), platform.machine())
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "load": round(os.getloadavg()[0], 2)}


def median(numbers):
    return statistics.median(numbers) if numbers else None


def show(options, title, header, rows, result):
    """Prints the table and, if requested, writes the numbers as JSON."""
    here = machine()
    print(f"{title}\n{here['cpu']}, {here['cores']} cores, Linux {here['kernel']}, load {here['load']}\n")
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths))
        print("  ".join([first.strip().ljust(widths[0]), *others]))
    if options.json:
        options.json.write_text(json.dumps({"what": title, "machine": here, "result": result}, indent=1) + "\n")
