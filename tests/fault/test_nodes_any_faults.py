"""Random faults on four hosts: after each one the job runs again on all four, and no two rounds ever overlap.

What happens comes from a seed, which a failure names; DLAUNCH_FAULT_SEED=N repeats it.
"""

# ctest: timeout 400

import os
import random
import signal
import time

import pytest

from hosts import variable
from processes import alive, until

FAULTS = 8
# A host that is lost five times would wait for 40 s with the default cool-down.
OPTIONS = ("--max-restarts=1000", "--restart-backoff=0.01", "--grace=1", "--node-cooldown=0.5:5")
SHORT, LONG = (0.2, 2.0), (5.0, 8.0)  # seconds; a node may be silent for five


class Trial:
    def __init__(self, job, chance):
        self.job, self.net, self.chance = job, job.net, chance
        self.runs = {host.name: self.join(host) for host in self.net}
        self.what = "the start"

    def join(self, host):
        return self.job.join(host, "2:4", *OPTIONS)

    def round(self):
        """The round to which all four running workers belong; None if there is none."""
        pids = [pid for run in self.runs.values() for pid in run.workers().values()]
        found = {(variable(pid, "DLAUNCH_ROUND"), variable(pid, "WORLD_SIZE")) for pid in pids}
        if len(pids) != 4 or len(found) != 1:
            return None
        ((number, size),) = found
        begun = len(list(self.job.seen.glob(f"began.{number}.[0-3]")))
        return int(number) if size == "4" and begun == 4 else None

    def stands(self, after=-1):
        def now():
            ended = [f"{name}: {run.err()[-500:]}" for name, run in self.runs.items() if run.ended()]
            assert not ended, f"after {self.what}: {ended}"
            number = self.round()
            return number is not None and number > after

        until(now, 40, f"a world of four after {self.what}")
        return self.round()

    def again(self, name):
        self.runs[name].wait(15)
        self.runs[name] = self.join(self.net[name])

    # --- the faults; each returns whether a new round must follow ---

    def worker(self, name):
        for pid in self.runs[name].workers().values():
            os.kill(pid, signal.SIGKILL)
        return True

    def agent(self, name):
        os.kill(self.runs[name].agent(), signal.SIGKILL)
        self.again(name)
        return True

    def guard(self, name):
        os.kill(self.runs[name].pid, signal.SIGKILL)
        self.again(name)
        return True

    def node(self, name):
        self.net[name].kill_all()
        self.again(name)
        return True

    def leave(self, name):
        self.runs[name].signal(signal.SIGTERM)
        self.again(name)
        return True

    def cut(self, name, length=SHORT):
        self.net[name].cut()
        time.sleep(self.chance.uniform(*length))
        self.net[name].mend()
        return length == LONG

    def freeze(self, name, length=SHORT):
        pid = self.runs[name].agent()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.chance.uniform(*length))
        assert alive(pid)
        os.kill(pid, signal.SIGCONT)
        return length == LONG

    def long_cut(self, name):
        return self.cut(name, LONG)

    def long_freeze(self, name):
        return self.freeze(name, LONG)


def test_the_job_runs_again_on_all_nodes(cluster):
    seed = int(os.environ.get("DLAUNCH_FAULT_SEED") or random.randrange(10**6))
    print(f"repeat with DLAUNCH_FAULT_SEED={seed}")
    chance = random.Random(seed)
    trial = Trial(cluster(4), chance)
    number = trial.stands()
    for _ in range(FAULTS):
        fault = chance.choice(["worker", "agent", "guard", "node", "leave", "cut", "freeze", "long_cut", "long_freeze"])
        name = chance.choice(["node2", "node3", "node4"])  # node1 hosts the coordinator
        trial.what = f"{fault} {name} in round {number}"
        changed = getattr(trial, fault)(name)
        number = trial.stands(number if changed else number - 1)
        trial.job.no_overlap()
    for rank in range(4):
        trial.job.order(rank, "exit 0")
    assert [run.wait(20).rc for run in trial.runs.values()] == [0] * 4
    trial.job.all_empty()
