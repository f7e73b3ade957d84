"""A job of many simulated agents and one dlaunch, which hosts their coordinator: for meet.py and failure.py."""
import json
import os
import subprocess
from pathlib import Path

from common import free_port, median

COUNTS = (100, 1000, 10000)
JOB = "bench"


def cpu_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def agent_below(guard):
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


def serving(port):
    wanted = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines)


def one_job(options, count, beating=0):
    """Meets, fails, meets again, ends; what agents_load printed, and the coordinator's share of a core under beats."""
    port = free_port()
    dlaunch = subprocess.Popen(
        [options.build.resolve() / "bin" / "dlaunch", f"--nnodes={count + 1}", "--nproc-per-node=1",
         "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id={JOB}", "--max-restarts=1",
         "--node-timeout=60", "--no-python", "/bin/sh", "-c", '[ "$DLAUNCH_ROUND" = 1 ] || exec sleep 600'],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while not serving(port):
            if dlaunch.poll() is not None:
                raise SystemExit(f"dlaunch: {dlaunch.stderr.read()}")
        words = [options.programs / "agents_load", str(port), JOB, str(count), *([str(beating)] if beating else [])]
        load = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        before = share = None
        for line in load.stdout:
            if line.startswith("{"):
                figures = json.loads(line)
                continue
            now = cpu_seconds(agent_below(dlaunch.pid))
            share = (now - before) / beating if before is not None else None
            before = now
            load.stdin.write("\n")
            load.stdin.flush()
        if load.wait() != 0 or dlaunch.wait(30) != 0:
            raise SystemExit(f"agents_load ended with {load.returncode}, dlaunch with {dlaunch.returncode}")
        return figures | ({"beats_core_share": share} if beating else {})
    finally:
        dlaunch.kill()
        dlaunch.communicate()


def medians(options, beating=0):
    """Of each figure, by number of agents."""
    result = {}
    for count in COUNTS:
        runs = [one_job(options, count, beating) for _ in range(options.repeats)]
        result[count] = {name: median([run[name] for run in runs]) for name in runs[0]}
    return result
