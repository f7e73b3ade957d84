"""Another service listens at the endpoint: the error is reported at once, not after the time-out."""

import os
import socket
import threading

import pytest

from processes import until
from store import serving


class ForeignService:
    """A service on a port of this machine that sends the same bytes to every client, or nothing."""

    def __init__(self, words):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.words, self.kept = self.listener.getsockname()[1], words, []
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            if client.getpeername()[1] == self.last_port:
                return client.close()
            client.sendall(self.words)
            self.kept.append(client)

    last_port = None

    def close(self):
        last = socket.socket()
        last.bind(("127.0.0.1", 0))
        self.last_port = last.getsockname()[1]
        last.connect(("127.0.0.1", self.port))
        self.thread.join()
        for each in (last, self.listener, *self.kept):
            each.close()


@pytest.fixture
def foreign_service():
    made = []

    def foreign_service_(words):
        made.append(ForeignService(words))
        return made[-1]

    yield foreign_service_
    for each in made:
        each.close()


def words(port, *options):
    return ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", *options, "true"]


def test_a_web_server(dlaunch, foreign_service):
    result = dlaunch(*words(foreign_service(b"HTTP/1.1 400 Bad Request\r\n\r\n").port))
    assert result.rc == 83 and result.seconds < 10
    assert f", by python3 (pid {os.getpid()}), expected a dlaunch" in result.err
    assert "127.0.0.1:" in result.err and 'it sends "HTTP/1.1 400 Bad Request"' in result.err
    assert len(result.err.splitlines()) == 1


def test_bytes_that_are_no_text(dlaunch, foreign_service):
    result = dlaunch(*words(foreign_service(b"\x16\x03\x01\x00\xff").port))
    assert result.rc == 83 and "another protocol" in result.err


def test_a_store_that_is_no_coordinator(dlaunch, binary):
    with serving(binary) as server:
        result = dlaunch(*words(server.port))
    assert result.rc == 83 and result.seconds < 10 and "without sending a byte" in result.err


def test_a_silent_service(start, foreign_service):
    run = start(*words(foreign_service(b"").port, "--rdzv-conf=join_timeout=8"))
    until(lambda: "does not answer as a coordinator does" in run.err(), 7, "the error message before the time-out")
    result = run.wait(20)
    assert result.rc == 80 and "timed out after 8 s" in result.err


def test_the_owner_of_a_port_is_named_everywhere(dlaunch, foreign_service):
    port, owner = foreign_service(b"").port, f"by python3 (pid {os.getpid()})"
    alone = dlaunch("--nproc-per-node=2", f"--master-port={port}", "true")
    assert alone.rc == 2 and owner in alone.err and "--master-port" in alone.err, alone.err
    coordinator = dlaunch("coordinator", "--nnodes=2", f"--rdzv-endpoint=127.0.0.1:{port}")
    assert coordinator.rc == 83 and owner in coordinator.err and len(coordinator.err.splitlines()) == 1, coordinator.err


def test_an_unknown_own_address(dlaunch):
    for nodes in ("1", "2"):
        result = dlaunch(f"--nnodes={nodes}", "--nproc-per-node=2", "--local-addr=nope0", "true")
        assert result.rc == 2 and "dlaunch: --local-addr: nope0: " in result.err, result.err


@pytest.mark.parametrize("nodes", ["1", "2"])
def test_an_address_of_another_host(dlaunch, nodes):
    result = dlaunch(f"--nnodes={nodes}", "--local-addr=192.0.2.7", "true")
    assert result.rc == 2 and result.err.startswith("dlaunch: --local-addr: 192.0.2.7:0: Cannot assign"), result.err


def test_check_insists_on_an_answer(dlaunch, foreign_service):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            client, _ = listener.accept()
            with client:
                while client.recv(256):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        result = dlaunch("check", "--nnodes=2", "--node-rank=1", f"--rdzv-endpoint=127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert result.rc == 83 and "no dlaunch coordinator" in result.out, result
