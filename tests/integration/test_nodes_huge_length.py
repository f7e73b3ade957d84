"""A frame with a length of 4 GiB is refused before memory is allocated for it."""

import struct
from pathlib import Path

import pytest

from wire import GREETING, Wire

MANY = 0xFFFFFFFF
CLAIMS = {
    "frame": GREETING + b"\x40" + struct.pack("<I", MANY),
    "frame-and-some-bytes": GREETING + b"\x41" + struct.pack("<I", MANY) + b"x" * 100_000,
    "value": GREETING + b"\x01" + struct.pack("<Q", 1) + b"k" + struct.pack("<Q", MANY + 1),
    "count": GREETING + b"\x06" + struct.pack("<Q", MANY + 1),
}


def peak_kib(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0])


@pytest.mark.parametrize("claim", CLAIMS)
def test_it_is_refused(cluster, claim):
    job = cluster(2)
    runs = job.begin("2")
    world = job.world(2)
    before = peak_kib(runs[0].agent())
    with Wire(job.net[1], job.net[0]) as wire:
        wire.send(CLAIMS[claim])
        assert wire.at_end()
    assert peak_kib(runs[0].agent()) - before < 4096
    job.end_well(world, *runs)
