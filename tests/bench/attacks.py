"""Attacks on the ports of a job, at bounded rates, and a man in the middle of two of its nodes."""
import contextlib
import multiprocessing
import os
import random
import select
import socket
import ssl
import struct
import threading
import time

RATES = {"connect": 200, "garbage": 50, "tls": 50, "amplify": 20}  # per second and port
SILENT = 1500  # connections at each port; the store keeps 1,024 that have not finished their handshake
HANDSHAKE = bytes([0]) + struct.pack("<I", 0x3C85F7CE)


def text(value):
    return struct.pack("<Q", len(value)) + value


def client_hello():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="coordinator").do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


LARGE = HANDSHAKE + bytes([1]) + text(b"large") + text(b"v" * (1 << 20)) + (bytes([3]) + text(b"large")) * 1000
WORDS = {"connect": b"", "garbage": random.randbytes(64 << 10), "tls": client_hello(), "amplify": LARGE}


class Attack:
    """From start to stop, on these ports. Its process has the lowest priority: real attackers have processors of their own."""

    def __init__(self, ports):
        self.over, self.connected = multiprocessing.Event(), multiprocessing.Value("Q", 0)
        self.process = multiprocessing.Process(target=self.run, args=(ports,), daemon=True)
        self.process.start()

    def run(self, ports):
        os.nice(19)
        threads = [threading.Thread(target=self.flood, args=(kind, port)) for kind in RATES for port in ports]
        threads += [threading.Thread(target=self.hold, args=(port,)) for port in ports]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def connect(self, port):
        sock = socket.socket()
        sock.settimeout(0.5)
        try:
            sock.connect(("127.0.0.1", port))
            with self.connected.get_lock():
                self.connected.value += 1
            return sock
        except OSError:
            sock.close()

    def flood(self, kind, port):
        unread = []  # replies stay unread
        while not self.over.wait(1 / RATES[kind]):
            if sock := self.connect(port):
                unread.append(sock)
                with contextlib.suppress(OSError):
                    sock.sendall(WORDS[kind])
            for old in unread[:-50]:
                old.close()
            del unread[:-50]

    def hold(self, port):
        """Holds silent connections, and replaces those that the server closes."""
        held, closed = {}, select.poll()
        while not self.over.wait(0.01):
            for number, _ in closed.poll(0):
                closed.unregister(number)
                held.pop(number).close()
            if len(held) < SILENT and (sock := self.connect(port)):
                held[sock.fileno()] = sock
                closed.register(sock, select.POLLIN)

    def stop(self):
        """Returns the number of connections of the attack."""
        self.over.set()
        self.process.join()
        return self.connected.value


class Middle:
    """Passes connections on to `port`; while `cuts`, each lives a few seconds and then loses or changes a byte."""

    def __init__(self, port):
        self.port, self.cuts, self.harmed = port, False, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            threading.Thread(target=self.pass_on, args=(self.listener.accept()[0],), daemon=True).start()

    def pass_on(self, near):
        end = time.monotonic() + random.uniform(2, 6)
        with contextlib.suppress(OSError), near, socket.create_connection(("127.0.0.1", self.port)) as far:
            while True:
                for sock in select.select([near, far], [], [], 0.2)[0]:
                    data = sock.recv(1 << 16)
                    if not data:
                        return
                    if self.cuts and time.monotonic() > end:
                        self.harmed += 1
                        if self.harmed % 2:
                            return
                        data = bytes([data[0] ^ 1]) + data[1:]
                    (far if sock is near else near).sendall(data)
