"""SIGKILL of one process of a job of four hosts, at any moment: soon nothing of the job lives on any host."""

import os
import random
import signal
import time

import pytest

from processes import alive, children, comm, parent, until

RUNS = int(os.environ.get("DLAUNCH_FAULT_RUNS") or 3)
GONE_WITHIN = 2  # seconds
LATEST = 0.6  # seconds from the start, when all workers run
WORKER = '( setsid sleep "$TEST_RUN_MARK" & )\nexec sleep "$TEST_RUN_MARK"\n'
PDSH = pytest.param("pdsh", marks=pytest.mark.needs("pdsh"))


def named(run, name):
    return [pid for pid in run.living() if comm(pid) == name]


def front_end(run):
    return [pid for pid in children(run.pid) if comm(pid) == "dlaunch-agent"]


def logins(run):
    """The launchers that the front end has started."""
    return [pid for agent in front_end(run) for pid in children(agent)]


def agents(run):
    """Those of the hosts; not the children of an agent that do not run their program yet, or run none."""
    found = named(run, "dlaunch-agent")
    return [pid for pid in found if parent(pid) not in {run.pid, *found}]


def guards(run):
    return list({parent(pid) for pid in agents(run)})


def relays(run):
    return list({parent(pid) for pid in guards(run)})


VICTIMS = {"front end": front_end, "its guard": lambda run: [run.pid], "login": logins, "agent": agents, "guard": guards, "relay": relays}


@pytest.mark.parametrize("launcher", ["fork", "ssh", PDSH])
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_killed(start, fake_ssh, shell_worker, victim, launcher):
    options = ["--launcher-args=-R exec"] if launcher == "pdsh" else []
    for _ in range(RUNS):
        run = start(f"--launcher={launcher}", *options, "--hosts=a,b,c,d", "--no-python", shell_worker(WORKER), env=fake_ssh.env)
        time.sleep(random.uniform(0, LATEST))
        pid = random.choice(until(lambda: VICTIMS[victim](run), 20, "the start"))
        living = [f"{each} {comm(each)} of {parent(each)}" for each in run.living()]
        killed = time.monotonic()
        print(f"killed {pid}")
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
        status = run.wait(20).rc
        took = time.monotonic() - killed
        assert status != 0 and took < GONE_WITHIN, (
            f"status {status} {took:.3f} s after the kill of {pid} at {killed - run.started:.3f} s; "
            f"there lived {living}; {run.err()}"
        )
        run.nothing_left(GONE_WITHIN - took)
