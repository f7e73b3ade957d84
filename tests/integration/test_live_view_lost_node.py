"""The status line of the live view while a job waits for a node that was lost."""

import signal
import socket

import pytest

from processes import children, until
from running import kill

pytest.importorskip("pexpect")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_it_counts_the_nodes_that_are_left(terminal, start, shell_worker):
    worker = shell_worker("ready\nexec sleep 100\n")
    words = ["--nnodes=2", "--nproc-per-node=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}", "--max-restarts=1"]
    tty = terminal(*words, "--node-rank=0", "--no-python", worker)
    other = start(*words, "--node-rank=1", "--no-python", worker)
    tty.expect("2 of 2 workers alive")
    for pid in (*children(other.pid), other.pid):
        kill(pid, signal.SIGKILL)
    tty.expect("0 of 2 workers alive . 1 of 2 nodes")
    until(other.ended, 5, "the other node's end")
    tty.end()


def test_a_front_end_counts_the_hosts_that_are_left(terminal, shell_worker, seen):
    text = "ready\n[ $RANK = 2 ] && kill -9 $(ps -o ppid= -p $PPID) $PPID\nexec sleep 100\n"
    tty = terminal("--launcher=fork", "--hosts=a:2,b:2", "--max-restarts=1", "--no-python", shell_worker(text))
    tty.expect("1 of 2 nodes")
    tty.finish()
