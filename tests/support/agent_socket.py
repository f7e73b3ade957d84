"""Sends one request to DLAUNCH_AGENT_SOCKET and returns the whole answer."""

import socket


def ask(path, request=b"status\n"):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))
