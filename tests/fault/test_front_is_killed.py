"""Nothing lives on when the front end, a launcher or an agent is killed or frozen."""

import os
import signal
import time

import pytest

from processes import children, comm, until
from running import kill
from workers import STAY


def command_line(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")


def relays(run):
    """The processes `dlaunch agent`, without the guards and agents that they have forked."""
    words = [(pid, command_line(pid)) for pid in run.living()]
    named = {pid for pid, line in words if b"agent" in line[1:2]}
    return [pid for pid in named if not any(pid in children(other) for other in named)]


@pytest.fixture
def running(start, shell_worker):
    def running_(*options, **more):
        run = start(*options, "--hosts=na,nb", "--no-python", shell_worker(STAY), **more)
        run.ready(2)
        return run

    return running_


def test_the_front_end_process(running, tmpdir_of_job):
    run = running("--launcher=fork")
    agent = run.agent()
    os.kill(agent, signal.SIGKILL)
    result = run.wait(10)
    assert result.rc == 137
    assert result.err == f"dlaunch: the front end (pid {agent}) was killed by signal 9 (Killed); every worker was killed\n"
    run.nothing_left(2)
    assert list(tmpdir_of_job.iterdir()) == [], "the hosts' files on this machine"


@pytest.mark.parametrize("launcher", ["fork", "ssh"])
@pytest.mark.parametrize("pause_ms", [0, 5, 10, 20, 50, 100])
def test_the_front_end_process_and_then_its_coordinator(running, fake_ssh, launcher, pause_ms):
    """No successor decides the end of a job that has no node left, and waits for nodes to receive it."""
    run = running(f"--launcher={launcher}", env=fake_ssh.env)
    coordinator = run.coordinator()
    os.kill(run.agent(), signal.SIGKILL)
    time.sleep(pause_ms / 1000)
    kill(coordinator, signal.SIGKILL)
    assert run.wait(2).rc == 137
    run.nothing_left(2)


def test_its_guard(running):
    run = running("--launcher=fork")
    run.signal(signal.SIGKILL)
    run.wait(10)
    run.nothing_left(8)


def test_all_of_the_front_end_at_once(running, fake_ssh):
    run = running(env=fake_ssh.env)
    for pid in [run.pid, *children(run.pid)]:
        os.kill(pid, signal.SIGKILL)
    run.wait(10)
    run.nothing_left(8)


def test_every_ssh_at_once(running, fake_ssh):
    run = running(env=fake_ssh.env)
    logins = [fake_ssh.calls(host)[0]["pid"] for host in ("na", "nb")]
    os.kill(run.agent(), signal.SIGSTOP)  # so that it detects all exits at the same time
    for pid in logins:
        os.kill(pid, signal.SIGKILL)
    os.kill(run.agent(), signal.SIGCONT)
    result = run.wait(20)
    assert result.rc == 80, result.err
    run.nothing_left(8)


def test_an_ssh(running, fake_ssh):
    run = running(env=fake_ssh.env)
    os.kill(fake_ssh.calls("nb")[0]["pid"], signal.SIGKILL)
    result = run.wait(20)
    assert result.rc != 0 and "host nb: ssh was killed by SIGKILL" in result.err
    run.nothing_left(8)


def test_an_agent(running):
    run = running("--launcher=fork")
    os.kill(until(lambda: relays(run), 5, "the agents")[0], signal.SIGKILL)
    assert run.wait(20).rc != 0
    run.nothing_left(8)


def test_the_coordinator_is_replaced(running, shell_worker):
    run = running("--launcher=fork")
    first = run.coordinator()
    os.kill(first, signal.SIGKILL)
    run.coordinator(but=[first])
    run.signal(signal.SIGTERM)
    assert run.wait(20).rc == 143


def test_a_frozen_agent_does_not_delay_the_end(running):
    run = running("--launcher=fork", "--node-timeout=2")
    frozen = next(pid for pid in run.living() if comm(pid) == "dlaunch-agent" and pid != run.agent())
    os.kill(frozen, signal.SIGSTOP)
    result = run.wait(40)
    assert result.rc == 80 and "its agent does not end; it is given up" in result.err, result.err
    assert result.seconds < 30, "the guard alone would wait a minute for its agent"
    run.nothing_left(8)
