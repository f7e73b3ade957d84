"""More clients of the local socket than the agent has descriptors: later clients are served when there is room again, and
the job continues."""

import json
import socket

import pytest

from agent_socket import ask
from processes import environment

pytestmark = pytest.mark.needs("prlimit")


def begin(job, text, clients):
    """Starts a job with few descriptors. Returns its run, the path of its socket, and so many connections to it."""
    run = job(text, workers=1, prefix=("prlimit", "--nofile=64:64"))
    path = environment(run.ready(1)[0])["DLAUNCH_AGENT_SOCKET"]
    connections = [socket.socket(socket.AF_UNIX) for _ in range(clients)]
    for connection in connections:
        connection.connect(path)
    return run, path, connections


def test_the_next_client_is_served(job):
    run, path, clients = begin(job, "ready\nawait go\n", 100)
    for client in clients:
        client.close()
    assert json.loads(ask(path))["state"] == "running"
    run.go()
    assert run.wait(5).rc == 0


def test_the_job_continues(job):
    """The search for leftovers of earlier runs begins 1 s after the first round."""
    run, _, still_open = begin(job, "ready\nawait go\nsleep 1.5\n", 180)
    run.go()
    result = run.wait(10)
    assert (result.rc, result.err) == (0, "")
    run.nothing_left()
