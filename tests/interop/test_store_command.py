"""`dlaunch store` as a command: output, listening address, exit."""

import re
import signal
import socket
import subprocess

import pytest

from store import StoreServer, serving

HELLO = bytes.fromhex("00CEF7853C")


def run(binary, *words):
    return subprocess.run([binary, "store", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def ping(port, host="127.0.0.1"):
    with socket.create_connection((host, port), timeout=30) as client:
        client.sendall(HELLO + b"\x0d\1\2\3\4")
        return client.recv(4, socket.MSG_WAITALL)


def test_it_prints_one_line_with_its_address(binary):
    with serving(binary) as server:
        assert re.fullmatch(r"dlaunch: the store listens on 127\.0\.0\.1:\d+\n", server.line)
        assert ping(server.port) == b"\1\2\3\4"


def test_it_listens_nowhere_else(binary):
    with serving(binary) as server, pytest.raises(ConnectionRefusedError):
        ping(server.port, "127.0.0.2")


def test_ipv6(binary):
    server = StoreServer(binary, "[::1]:0")
    try:
        if not server.line:
            pytest.skip("no IPv6 on loopback here")
        assert server.line.startswith("dlaunch: the store listens on [::1]:")
        assert ping(server.port, "::1") == b"\1\2\3\4"
    finally:
        server.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_its_connections(binary, number):
    with serving(binary) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            client.sendall(HELLO + b"\x06" + (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + b"k" + b"\x0d\1\2\3\4")
            assert client.recv(4, socket.MSG_WAITALL) == b"\1\2\3\4"
            server.process.send_signal(number)
            assert server.process.wait(30) == 0
            assert client.recv(1) == b""
        server.process.poll = lambda: None  # the server was supposed to end


def test_a_taken_port_is_refused_in_one_line(binary):
    with serving(binary) as server:
        done = run(binary, "--bind", f"127.0.0.1:{server.port}")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"dlaunch: store --bind: 127.0.0.1:{server.port}: Address already in use\n"


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "store: no address, expected --bind ADDR:PORT"),
        (["--bind"], "store --bind: nothing after it, expected ADDR:PORT"),
        (["--port=1"], "store: --port=1, expected --bind ADDR:PORT"),
        (["--bind", "127.0.0.1:0", "x"], "store: x, expected --bind ADDR:PORT"),
    ],
)
def test_bad_input_is_refused_in_one_line(binary, words, text):
    done = run(binary, *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dlaunch: {text}\n")


@pytest.mark.parametrize("bind", ["127.0.0.1:99999", "127.0.0.1:x", "::1:0:0", "", "127.0.0.1,127.0.0.2", "203.0.113.7:0"])
def test_bad_addresses_are_refused_in_one_line(binary, bind):
    done = run(binary, "--bind", bind)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"dlaunch: store.*\n", done.stderr)


def test_help(binary):
    done = run(binary, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: dlaunch store --bind")
