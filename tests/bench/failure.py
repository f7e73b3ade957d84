"""Time until all nodes have received the stop after a failure, and run again.

First 100, 1000 and 10000 simulated agents (see meet.py): from one agent's report until the last one receives the stop,
and from the last stop until the last one has its next assignment. Then a real job of two nodes of two workers each, on
this machine: from SIGKILL of a worker until the last of the four runs again, and the time of a bare fork and exec of
that worker; beside torchrun where DLAUNCH_TORCH_PYTHON names an interpreter with a current torch.
"""
import os
import subprocess
import tempfile
import time
from pathlib import Path

from agents import failures
from common import free_port, median, parse, show

NODES, WORKERS = 2, 2


def launchers(options):
    """name -> the front of its command line."""
    found = {"dlaunch": [options.build.resolve() / "bin" / "dlaunch"]}
    if python := os.environ.get("DLAUNCH_TORCH_PYTHON"):
        found["torchrun"] = [python, "-m", "torch.distributed.run"]
    return found


def restart_ms(options, front):
    """From the death until the last worker of the next round has begun."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*front, f"--nnodes={NODES}", f"--nproc-per-node={WORKERS}", "--rdzv-backend=c10d",
                 f"--rdzv-endpoint=localhost:{free_port()}", "--rdzv-id=bench", "--max-restarts=1",
                 "--rdzv-conf=last_call_timeout=1", "--no-python", options.programs / "restart_probe", folder]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        runs = [subprocess.Popen([str(word) for word in words], **quiet) for _ in range(NODES)]
        try:
            if any(run.wait(120) != 0 for run in runs):
                raise SystemExit(f"{front[-1]} ended with {[run.returncode for run in runs]}")
        finally:
            for run in runs:
                run.kill()
        began = [int(path.read_text()) for path in Path(folder).glob("again.?")]
        if len(began) != NODES * WORKERS:
            raise SystemExit(f"{front[-1]}: {len(began)} workers began again")
        return (max(began) - int(Path(folder, "died").read_text())) / 1e6


def program_ms(options):
    """The time of the worker itself from fork to its first statement."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "died").touch()
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        subprocess.run([options.programs / "restart_probe", folder], env={"RANK": "0", "WORLD_SIZE": "1"}, check=True)
        return (int(Path(folder, "again.0").read_text()) - start) / 1e6


def main():
    options = parse(__doc__, repeats=5)
    result = {"agents": failures(options)}
    rows = [[count, *(f"{its[name]:.1f} ms" for name in ("stop_ms", "again_ms", "end_ms")), f"{its['again_sent']:.0f}",
             f"{its['again_received']:.0f}"] for count, its in result["agents"].items()]
    header = ["agents", "all stopped", "all assigned again", "all ended", "bytes sent", "bytes received"]
    show(options, f"failure: of simulated agents, medians of {options.repeats}", header, rows, result)

    fronts = launchers(options)
    samples = {name: [] for name in fronts}
    programs = []
    for _ in range(options.repeats):
        for name, front in fronts.items():
            samples[name].append(restart_ms(options, front))
        programs.append(program_ms(options))
    result["restart_ms"] = {name: median(times) for name, times in samples.items()} | {"program": median(programs)}
    print()
    show(options, f"restart: {NODES} nodes of {WORKERS} workers, a death to all running, medians of {options.repeats}",
         list(result["restart_ms"]), [[f"{ms:.1f} ms" for ms in result["restart_ms"].values()]], result)


main()
