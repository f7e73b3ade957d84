"""DLAUNCH_AGENT_SOCKET: a local socket. The first line of a client is its request, status or losses."""

import json
import socket
import stat
import time
from pathlib import Path

from agent_socket import ask
from processes import environment


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


def test_a_silent_client_delays_no_other(job):
    run = job("ready\nawait go\n", workers=1)
    path = environment(run.ready(1)[0])["DLAUNCH_AGENT_SOCKET"]
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(path)
        assert json.loads(ask(path))
        run.go()
        assert run.wait(5).rc == 0


def test_every_follower_receives_past_and_future_losses(job):
    worker = "trap '' TERM\nready\n[ $RANK = 0 ] || { await go; exit 7; }\nexec sleep $TEST_RUN_MARK\n"
    run = job(worker, "--grace=600")
    path = environment(run.ready(2)[0])["DLAUNCH_AGENT_SOCKET"]
    for hear_before in (True, False):  # False: subscribe after the loss, and receive it too
        with socket.socket(socket.AF_UNIX) as follower:
            follower.settimeout(5)
            follower.connect(path)
            time.sleep(0.3)  # a slow client: its request arrives late and in pieces
            follower.sendall(b"los")
            time.sleep(0.1)
            follower.sendall(b"ses\n")
            if hear_before:
                run.go()
            with follower.makefile() as lines:
                assert lines.readline().startswith("lost 1 1 rank 1 (")
    run.end()


def test_other_requests_are_errors_and_do_no_harm(job):
    run = job("ready\nawait go\n", workers=1)
    path = environment(run.ready(1)[0])["DLAUNCH_AGENT_SOCKET"]
    for request in (b"\n", b"lossless\n", b"\0" * 5000 + b"\n", b"status now\n", bytes(range(255, 0, -1))):
        assert ask(path, request).startswith(b"error ")
    followers = [socket.socket(socket.AF_UNIX) for _ in range(200)]
    for follower in followers:
        follower.connect(path)
        follower.sendall(b"losses\n")
        follower.close()
    assert json.loads(ask(path))
    run.go()
    assert run.wait(5).rc == 0
