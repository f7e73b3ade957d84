"""Measures starting all nodes, from the command to the start of the last worker: ssh to 4 hosts, and 64 hosts on this
machine by --launcher=fork and by pdsh -R exec, compared with MPICH's and Open MPI's launchers.

The hosts of ssh are loopback addresses with an sshd of this benchmark. Of 64 hosts MPICH gets 64 processes by fork.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Launcher, median, parse, show

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from real_sshd import RealSshd, missing  # noqa: E402

NOTE = 'date +%s.%N > "$0/$$.part"; mv "$0/$$.part" "$0/$$"'


def milliseconds(launcher, count):
    with tempfile.TemporaryDirectory() as folder:
        start = time.time()
        done = subprocess.run(launcher.words(count, "sh", "-c", NOTE, folder), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env={**os.environ, **launcher.variables})
        stamps = [float(path.read_text()) for path in Path(folder).iterdir()]
    if done.returncode != 0 or len(stamps) != count:
        raise SystemExit(f"{launcher.name}: status {done.returncode}, {len(stamps)} of {count} workers\n{done.stderr.decode()[-500:]}")
    return 1e3 * (max(stamps) - start)


class Way(Launcher):
    def __init__(self, name, *front, variables=None):
        super().__init__(name, *front)
        self.variables = variables or {}


def by_ssh(dlaunch, sshd, folder):
    """Ways over near1 to near4."""
    names = [f"near{number}" for number in range(1, 5)]
    wrapper = folder / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec ssh {sshd.options} "$@"\n')
    wrapper.chmod(0o755)
    (folder / "hosts").write_text("".join(f"{name}\n" for name in names))
    yield Way("dlaunch", dlaunch, "--hosts=" + ",".join(names), f"--launcher-args={sshd.options}", "--no-python")
    if hydra := shutil.which("mpiexec.hydra"):
        yield Way("hydra", hydra, "-launcher", "ssh", "-launcher-exec", wrapper, "-f", folder / "hosts", "-n", "4",
                  variables={"HYDRA_LAUNCHER_AUTOFORK": "0"})
    if mpirun := shutil.which("mpirun.openmpi"):
        yield Way("mpirun", mpirun, "--allow-run-as-root", "--mca", "plm_rsh_agent", wrapper, "--host", ",".join(names), "-n", "4")


def on_this_machine(dlaunch):
    hosts = "--hosts=n[1-64]"
    yield Way("fork", dlaunch, "--launcher=fork", hosts, "--no-python")
    if shutil.which("pdsh"):
        yield Way("pdsh -R exec", dlaunch, "--launcher=pdsh", "--launcher-args=-R exec", hosts, "--no-python")
    if hydra := shutil.which("mpiexec.hydra"):
        yield Way("hydra, 64 processes", hydra, "-n", "64")


def measure(options, ways, count):
    times = {way.name: [] for way in ways}
    for way in ways:
        milliseconds(way, count)  # warms the page cache, and the keys of ssh
    for _ in range(options.repeats):
        for way in ways:
            times[way.name].append(milliseconds(way, count))
    return {name: median(numbers) for name, numbers in times.items()}


def main():
    options = parse(__doc__, repeats=7)
    dlaunch = options.build.resolve() / "bin" / "dlaunch"
    result, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        if reason := missing():
            print(f"ssh is left out: {reason}")
        else:
            sshd = RealSshd(Path(folder) / "sshd", 4)
            try:
                result["ssh, 4 hosts"] = measure(options, list(by_ssh(dlaunch, sshd, Path(folder))), 4)
            finally:
                sshd.close()
        result["64 hosts"] = measure(options, list(on_this_machine(dlaunch)), 64)
    for hosts, medians in result.items():
        first = next(iter(medians.values()))
        rows += [[hosts, name, f"{value:.0f} ms", f"{value / first:.2f} x"] for name, value in medians.items()]
    show(options, f"start: to the last worker, medians of {options.repeats}", ["hosts", "by", "time", "ratio"], rows, result)


main()
