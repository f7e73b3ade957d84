"""Requests split at every byte, from clients of both numberings, have the same effect as whole ones."""

import socket

import pytest

from store import serving

HELLO = bytes.fromhex("00CEF7853C")


def u64(number):
    return number.to_bytes(8, "little")


def text(value):
    return u64(len(value)) + value


def conversation(numbers, key):
    """SET, GET, ADD, CHECK, WAIT, DELETE_KEY, and the expected replies."""
    set_, get, add, check, wait, delete = (bytes([number]) for number in numbers)
    return (
        set_ + text(key) + text(b"40") + get + text(key) + add + text(key) + u64(2) + check + u64(2) + text(key) + text(b"no")
        + wait + u64(1) + text(key) + delete + text(key),
        text(b"40") + u64(42) + b"\1" + b"\0" + u64(1),
    )


SPEAKERS = {"newest": (HELLO, (1, 3, 4, 5, 6, 8)), "1.13": (b"", (0, 2, 3, 4, 5, 8))}


@pytest.fixture(scope="module")
def server(binary):
    with serving(binary) as server_:
        yield server_


@pytest.mark.parametrize("who", SPEAKERS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 16, 1000])
def test_pieces_of(server, who, size):
    hello, numbers = SPEAKERS[who]
    requests, replies = conversation(numbers, f"/{who}/{size}".encode())
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        everything = hello + requests
        for at in range(0, len(everything), size):
            client.sendall(everything[at : at + size])
        assert client.makefile("rb").read(len(replies)) == replies


def test_a_foreign_client_is_closed_and_its_peers_are_served(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(HELLO + b"\x0d\1\2\3\4")
        assert client.recv(4, socket.MSG_WAITALL) == b"\1\2\3\4"
        for hello in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\0\xc8", HELLO + b"\3" + u64(1 << 32), HELLO + b"\x40" + bytes(4)):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as foreign:
                foreign.sendall(hello)
                try:
                    assert foreign.recv(1) == b""
                except ConnectionResetError:
                    pass
        client.sendall(b"\x0d\4\3\2\1")
        assert client.recv(4, socket.MSG_WAITALL) == b"\4\3\2\1"
