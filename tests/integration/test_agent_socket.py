"""DLAUNCH_AGENT_SOCKET: a local socket that answers with one JSON object."""

import json
import socket
import stat
from pathlib import Path

from processes import environment


def ask(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_it_answers_and_is_private(job):
    run = job("ready\nawait go\n")
    pids = run.ready(2)
    path = Path(environment(pids[0])["DLAUNCH_AGENT_SOCKET"])
    assert stat.S_ISSOCK(path.stat().st_mode) and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    answer = json.loads(ask(path))
    assert isinstance(answer, dict) and all(str(pid) in json.dumps(answer) for pid in pids)
    assert json.loads(ask(path)), "it answers more than once"
    run.go()
    assert run.wait().rc == 0 and not path.exists()


def test_a_client_that_says_nothing_holds_nobody_up(job):
    run = job("ready\nawait go\n", workers=1)
    path = environment(run.ready(1)[0])["DLAUNCH_AGENT_SOCKET"]
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(path)
        assert json.loads(ask(path))
        run.go()
        assert run.wait(5).rc == 0
