"""Attacks a running job of two nodes for --minutes and tells what its honest users notice of it.

Strangers connect and leave, send garbage, TLS without the token, hold connections without a word, and read nothing of
what they ask for; the second node reaches the first through a relay that changes or cuts what it passes on. Two jobs:
one with a token, where workers reach the store through their agent, and an open one, where the store is open to the
strangers, too. All share the processors, the attackers' load is therefore bounded (attacks.py).
"""
import json
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from attacks import Attack, Middle
from common import free_port, median, parse, show

TELL = 'echo "port $MASTER_PORT restarts $TORCHELASTIC_RESTART_COUNT"; exec sleep 100000'
QUIET, ATTACKED, LEARNED = 2, 4, 6  # seconds: measured without and under the attack, and of the attack before it
def mib(pid):
    """The resident memory of a dlaunch, guard and agent together."""
    total, rest = 0, [pid]
    while rest:
        process = rest.pop()
        status = Path(f"/proc/{process}/status").read_text()
        if not re.search(r"^Name:\t(dlaunch|agent)", status, re.M):
            continue
        total += int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        rest += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
    return total / 1024


class Job:
    def __init__(self, options, folder, token):
        self.meets, self.folder = free_port(), Path(folder)
        self.folder.mkdir()
        self.middle = Middle(self.meets)
        ports = self.meets, self.middle.listener.getsockname()[1]
        self.nodes = [self.node(options, rank, port, token) for rank, port in enumerate(ports)]
        end = time.monotonic() + 30
        while len(self.said()) < 2:
            if time.monotonic() > end:
                raise SystemExit(f"the job does not begin: {(self.folder / 'err0').read_text()}")
            time.sleep(0.05)
        self.store = int(self.said()[0][0])

    def node(self, options, rank, port, token):
        words = [options.build.resolve() / "bin" / "dlaunch", "--nnodes=2", "--nproc-per-node=1", f"--node-rank={rank}", "--max-restarts=3",
                 f"--rdzv-endpoint=127.0.0.1:{port}", "--local-addr=127.0.0.1", *([f"--token-file={token}"] if token else []),
                 "--no-python", "/bin/sh", "-c", TELL]
        with open(self.folder / f"out{rank}", "wb") as out, open(self.folder / f"err{rank}", "wb") as err:
            return subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def said(self):
        """(port, restarts) of each start of each worker."""
        return [found for rank in (0, 1) for found in re.findall(r"port (\d+) restarts (\d+)", (self.folder / f"out{rank}").read_text())]

    def end(self):
        self.middle.cuts = False
        for node in self.nodes:
            node.send_signal(signal.SIGTERM)
        return [node.wait(60) for node in self.nodes]


def speed(options, job, seconds):
    words = [options.programs / "store_load", "store", job.store, "load", "set_wait_get", 4, seconds]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"honest clients: {done.stderr}")
    return json.loads(done.stdout)["per_second"]


def attacked(options, title, job):
    """The row of a job, and its figures."""
    quiet, under, memory, strangers = [], [], [mib(job.nodes[0].pid)], 0
    end = time.monotonic() + options.minutes * 60
    while time.monotonic() < end:
        quiet.append(speed(options, job, QUIET))
        attack, job.middle.cuts = Attack([job.meets, job.store]), True
        time.sleep(LEARNED)
        under.append(speed(options, job, ATTACKED))
        memory.append(mib(job.nodes[0].pid))
        job.middle.cuts = False
        strangers += attack.stop()
    starts = len(job.said())
    restarts = max(int(count) for _, count in job.said())
    alive = sum(node.poll() is None for node in job.nodes)
    result = {"quiet": median(quiet), "attacked": median(under), "ratio": median([a / q for a, q in zip(under, quiet)]),
              "mib_before": memory[0], "mib_most": max(memory), "mib_last": memory[-1], "restarts": restarts, "starts": starts,
              "alive": alive, "strangers": strangers, "harmed": job.middle.harmed, "ends": job.end()}
    speeds = [f"{result['quiet']:.0f}", f"{result['attacked']:.0f}", f"{result['ratio']:.2f}"]
    sizes = [f"{each:.0f}" for each in (memory[0], max(memory), memory[-1])]
    row = [title, *speeds, *sizes, restarts, f"{starts} (2)", f"{alive} (2)", strangers, job.middle.harmed]
    return row, result


def main():
    options = parse(__doc__, 1, lambda parser: parser.add_argument("--minutes", type=float, default=2, help="of attack on each job (default %(default)s)"))
    rows, results = [], {}
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder, "secret")
        token.write_text("0123456789abcdef0123456789abcdef")
        token.chmod(0o600)
        for title, given in (("token", token), ("open", None)):
            job = Job(options, Path(folder, title), given)
            try:
                row, results[title] = attacked(options, title, job)
            finally:
                job.end()
            rows.append(row)
    show(options, f"set+wait+get per second of 4 honest clients, memory of node 0 (MiB), {options.minutes:g} minutes each",
         ["job", "quiet", "attacked", "ratio", "before", "most", "last", "restarts", "starts", "nodes", "strangers", "harmed links"], rows, results)


main()
