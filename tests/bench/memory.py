"""Measures a launcher's memory (PSS) while four workers run: all its processes without the workers."""
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from common import median, parse, show

RANKS = 4
WORKER = "echo started > \"$0\"; exec sleep 600"


def tree(pid):
    """A process and all its descendants."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [pid, *(process for child in children for process in tree(child))]


def pss_kib(pid):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def own_processes(pid):
    return [process for process in tree(pid) if Path(f"/proc/{process}/comm").read_text().strip() != "sleep"]


def measure(launcher):
    """(MiB, number of processes) of a launcher while all its workers run."""
    with tempfile.TemporaryDirectory() as folder:
        fifo = Path(folder, "started")
        os.mkfifo(fifo)
        gate = os.open(fifo, os.O_RDWR)  # O_RDWR: open() does not block and readers see no end of file
        job = subprocess.Popen(launcher.words(RANKS, "/bin/sh", "-c", WORKER, fifo), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            seen = b""
            while seen.count(b"\n") < RANKS:
                seen += os.read(gate, 4096)
            while len(tree(job.pid)) - len(own := own_processes(job.pid)) < RANKS:
                assert job.poll() is None, f"{launcher.name} ended"
            return sum(map(pss_kib, own)) / 1024, len(own)
        finally:
            os.close(gate)
            job.send_signal(signal.SIGTERM)
            job.wait(60)


def main():
    options = parse(__doc__, repeats=5)
    seen = {name: [] for name in options.launchers}
    for _ in range(options.repeats):
        for name, launcher in options.launchers.items():
            seen[name].append(measure(launcher))
    result = {name: {"mib": median([mib for mib, _ in runs]), "processes": runs[-1][1]} for name, runs in seen.items()}
    rows = [[name, f"{value['mib']:.1f} MiB", value["processes"]] for name, value in result.items()]
    title = f"memory: the launcher's own, {RANKS} workers running, medians of {options.repeats}"
    show(options, title, ["", "PSS", "processes"], rows, result)


main()
