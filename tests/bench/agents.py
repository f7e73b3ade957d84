"""A job of many simulated agents and one dlaunch, which hosts their coordinator: for meet.py and failure.py."""
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

from common import free_port, median

COUNTS = (100, 1000, 10000)
JOB = "bench"
PROCESSES = 4
SPARE_DESCRIPTORS = 5000  # beside a server's connections: it leaves up to 4096 open files free
WORKER = '[ "$DLAUNCH_ROUND" = 1 ] || exec sleep 600'  # of the one real agent: the second round succeeds at once
STATUS = 3  # of agents_load's failures


def cpu_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def name_of(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def allow_descriptors(count):
    """For this process and its children. Root may have more than the hard limit. Whether `count` are allowed now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), max(hard, count)))
    except (ValueError, OSError):
        return False
    return True


def most_of_one_process(count):
    """How many of `count` agents or relays can be connected to one process."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allow_descriptors(count + SPARE_DESCRIPTORS):
        return count
    allow_descriptors(hard)  # an earlier call may have allowed fewer
    return hard - SPARE_DESCRIPTORS


class Agents:
    """`count` simulated agents in several processes, and a dlaunch that waits for them."""

    def __init__(self, options, count, more=(), token=None, worker=WORKER):
        if not allow_descriptors(count + SPARE_DESCRIPTORS):
            raise SystemExit(f"{count} agents need {count + SPARE_DESCRIPTORS} open files: run it as root")
        self.count, self.port = count, free_port()
        words = [options.build.resolve() / "bin" / "dlaunch", f"--nnodes={count + 1}", "--nproc-per-node=1",
                 "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port}", f"--rdzv-id={JOB}",
                 "--max-restarts=1", *more, *([f"--token-file={token}"] if token else []), "--no-python", "/bin/sh",
                 "-c", worker]
        self.dlaunch = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.loads = []
        try:
            self.await_listener()
            shares = [count * (n + 1) // PROCESSES - count * n // PROCESSES for n in range(PROCESSES)]
            for n, share in enumerate(shares):
                words = [options.programs / "agents_load", self.port, JOB, sum(shares[:n]), share, f"127.0.0.{n + 2}",
                         *([token] if token else [])]
                self.loads.append(subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                                   stdout=subprocess.PIPE, text=True))
            self.receive("ready")
        except BaseException:
            self.close()
            raise

    def await_listener(self):
        wanted = f":{self.port:04X}"
        while not any(line.split()[1].endswith(wanted) and line.split()[3] == "0A"
                      for line in Path("/proc/net/tcp").read_text().splitlines()[1:]):
            if self.dlaunch.poll() is not None:
                raise SystemExit(f"dlaunch ended with {self.dlaunch.returncode}")
            time.sleep(0.01)

    def send(self, command, loads=None):
        for load in loads or self.loads:
            load.stdin.write(command + "\n")
            load.stdin.flush()

    def receive(self, event):
        """The reports of all processes about this event, as lists of numbers."""
        reports = []
        for load in self.loads:
            words = load.stdout.readline().split()
            if not words or words[0] != event:
                raise SystemExit(f"agents_load: {' '.join(words) or 'ended'} instead of {event}")
            reports.append([int(word) for word in words[1:]])
        return reports

    def join_all(self):
        """Milliseconds from the first connect() to the last assignment; bytes of one agent, sent and received."""
        self.send("go")
        began = min(time for [time] in self.receive("began"))
        self.receive("welcomed")
        reports = self.receive("assigned")
        return (max(line[1] for line in reports) - began) / 1e6, *(sum(line[n] for line in reports) / self.count
                                                                 for n in (2, 3))

    def coordinator(self):
        """The process that the agents are connected to: one of its own, where there is one, else the real agent."""
        below = children(self.dlaunch.pid)
        below += [grandchild for child in below for grandchild in children(child)]
        return next((pid for pid in below if name_of(pid) == "dlaunch-coord"), below[0])

    def has_coordinator_process(self):
        return name_of(self.coordinator()) == "dlaunch-coord"

    def kill_coordinator(self):
        """Milliseconds from its SIGKILL until its successor welcomes the last agent; agents with stopped workers."""
        killed = time.monotonic_ns()
        os.kill(self.coordinator(), signal.SIGKILL)
        reports = self.receive("welcomed")
        return (max(line[1] for line in reports) - killed) / 1e6, sum(line[2] for line in reports)

    def fail(self):
        """Milliseconds from one agent's failure until all have received the stop."""
        start = time.monotonic_ns()
        self.send("fail", self.loads[:1])
        return (max(line[1] for line in self.receive("stopped")) - start) / 1e6

    def start_again(self):
        """Milliseconds from the last stop until all are assigned; bytes of one agent, sent and received."""
        start = time.monotonic_ns()
        self.send("over 0")
        reports = self.receive("assigned")
        return (max(line[1] for line in reports) - start) / 1e6, *(sum(line[n] for line in reports) / self.count
                                                                   for n in (2, 3))

    def end(self, command, status):
        """Milliseconds from the last agent's report until all have the job's end, dlaunch's own with `status`."""
        start = time.monotonic_ns()
        self.send(command)
        ms = (max(time for [time] in self.receive("ended")) - start) / 1e6
        if self.dlaunch.wait(30) != status or any(load.wait(30) != 0 for load in self.loads):
            raise SystemExit(f"dlaunch ended with {self.dlaunch.returncode} instead of {status}")
        return ms

    def close(self):
        for process in [self.dlaunch, *self.loads]:
            process.kill()
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def core_share(jobs, seconds):
    """The share of a core that the coordinators of these jobs have together while every agent beats."""
    pids = [job.coordinator() for job in jobs]
    before, start = sum(map(cpu_seconds, pids)), time.monotonic()
    time.sleep(seconds)
    return (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - start)


def memory_kib(pid):
    return next(int(line.split()[1]) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                if line.startswith("VmRSS"))


def failures(options):
    """Of each figure of a failure, a restart and an end, the median, by number of agents."""
    result = {}
    for count in COUNTS:
        runs = []
        for _ in range(options.repeats):
            with Agents(options, count, ["--node-timeout=60"]) as agents:
                agents.join_all()
                stop = agents.fail()
                again, sent, received = agents.start_again()
                runs.append({"stop_ms": stop, "again_ms": again, "end_ms": agents.end("succeed", 0),
                             "again_sent": sent, "again_received": received})
        result[count] = {name: median([run[name] for run in runs]) for name in runs[0]}
    return result
