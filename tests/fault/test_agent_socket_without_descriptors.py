"""More clients of the local socket than the agent has descriptors: later clients are served when there is room again."""

import json
import socket

import pytest

from agent_socket import ask
from processes import environment


@pytest.mark.needs("prlimit")
def test_the_next_client_is_served(job):
    run = job("ready\nawait go\n", workers=1, prefix=("prlimit", "--nofile=64:64"))
    path = environment(run.ready(1)[0])["DLAUNCH_AGENT_SOCKET"]
    clients = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    for client in clients:
        client.connect(path)
    for client in clients:
        client.close()
    assert json.loads(ask(path))["state"] == "running"
    run.go()
    assert run.wait(5).rc == 0
