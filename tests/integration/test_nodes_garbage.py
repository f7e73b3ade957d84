"""Invalid bytes on the coordinator's port from another node: the connection is closed, and the job is not affected."""

import os

from wire import GREETING, Wire, frame, hello

WORDS = [
    b"GET / HTTP/1.1\r\nHost: node1\r\n\r\n",
    b"\x16\x03\x01\x02\x00" + bytes(60),  # TLS
    b"SSH-2.0-OpenSSH_9.2\r\n",
    GREETING + b"\x41" + bytes(4),
    GREETING + frame(0x40, b"") + frame(0x41, b""),
    hello("", ""),
    GREETING + frame(0x7F, b"x" * 100),
    GREETING + b"\xfe" * 1000,
]


def test_the_job_is_not_affected(cluster):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1")
    world = job.world(2)
    kept = []
    for number in range(40):
        wire = Wire(job.net[1], job.net[0])
        wire.send(WORDS[number] if number < len(WORDS) else os.urandom(1 + number * 37))
        if number % 2:
            wire.close()
        else:
            kept.append(wire)
    job.order(1, "exit 3")  # the coordinator still receives and sends
    after = job.world(2, after=world)
    job.end_well(after, *runs)
    for wire in kept:
        wire.close()
