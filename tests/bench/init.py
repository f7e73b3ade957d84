"""Measures the time of a short job, from the launcher's start to its end after one all_reduce, in milliseconds.

Beside it MPICH, OpenMPI, Gloo by itself and torch on gloo, as far as they are there.
"""
import tempfile
import time
from pathlib import Path

from common import gloo_peer, has_torch, median, mpi_peers, parse, quiet, show

BYTES = 8
TORCH = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(2))
dist.barrier()  # a rank that exits while peers still write makes them fail
dist.destroy_process_group()
"""


def ways(options, folder):
    """name -> the command line for n ranks."""
    dlaunch = options.launchers["dlaunch"]
    program = options.build.resolve() / "bin" / "examples" / "all_reduce_sum"
    found = {"dlaunch": lambda n: dlaunch.words(n, program),
             "dlaunch gloo": lambda n: ["env", "DLAUNCH_BACKEND=gloo", *dlaunch.words(n, program)]}
    for name, (launcher, peer) in mpi_peers(options, folder).items():
        if name != "openmpi tuned":
            found[name] = lambda n, launcher=launcher, peer=peer: launcher.words(n, peer, "--once", BYTES)
    if peer := gloo_peer(options):
        found["raw gloo"] = lambda n: dlaunch.words(n, peer, tempfile.mkdtemp(dir=folder), "--once", BYTES)
    if has_torch():
        (folder / "peer.py").write_text(TORCH)
        found["torch gloo"] = lambda n: dlaunch.words(n, "/usr/bin/python3", folder / "peer.py")
    return found


def milliseconds(words):
    begin = time.perf_counter()
    status = quiet(words)
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, words))} ended with {status}")
    return (time.perf_counter() - begin) * 1e3


def main():
    options = parse(__doc__, repeats=15)
    rows, result = [], {}
    with tempfile.TemporaryDirectory() as folder:
        found = ways(options, Path(folder))
        for n in (2, 4):
            samples = {name: [] for name in found}
            for _ in range(options.repeats):
                for name, words in found.items():
                    samples[name].append(milliseconds(words(n)))
            medians = result[f"{n} ranks"] = {name: median(numbers) for name, numbers in samples.items()}
            ratios = [f"{ms / medians['dlaunch']:.1f} x" for name, ms in medians.items() if name != "dlaunch"]
            rows.append([f"{n} ranks", *(f"{ms:.1f} ms" for ms in medians.values()), *ratios])
    header = ["start to end", *found, *(f"{name} / dlaunch" for name in found if name != "dlaunch")]
    show(options, f"init: medians of {options.repeats}", header, rows, result)


main()
