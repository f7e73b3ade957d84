"""A raw connection from a test to a coordinator on another host: torch's greeting, then frames `u8 number, u32 length`."""

import socket
import struct

from hosts import PORT, inside

GREETING = b"\x00\xce\xf7\x85\x3c"
HELLO, JOIN, REFUSED = 0x40, 0x41, 0x46


def frame(number, payload):
    return struct.pack("<BI", number, len(payload)) + payload


def text(words):
    return struct.pack("<I", len(words)) + words.encode()


def hello(version, job):
    return GREETING + frame(HELLO, text(version) + text(job) + struct.pack("<Q", 1))


class Wire:
    """A connection from one host to the coordinator's port on another."""

    def __init__(self, source, target, port=PORT):
        with inside(source):
            self.socket = socket.socket()
        self.socket.settimeout(10)
        self.socket.connect((target.address, port))

    def send(self, words):
        try:
            self.socket.sendall(words)
        except OSError:  # closed by the coordinator during the write
            pass

    def read(self, count):
        got = b""
        while len(got) < count and (more := self.socket.recv(count - len(got))):
            got += more
        return got

    def frame(self):
        number, length = struct.unpack("<BI", self.read(5))
        return number, self.read(length)

    def at_end(self):
        """Waits until the coordinator closes the connection."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def closed(self):
        """True if the coordinator has closed the connection."""
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
