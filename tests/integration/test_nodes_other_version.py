"""An agent of another version is refused with a message that names both versions; the job is not affected."""

import re
import subprocess

from wire import REFUSED, hello, Wire


def test_it_is_refused(cluster, binary):
    ours = subprocess.run([binary, "version"], capture_output=True, text=True).stdout
    ours = re.search(r"\d[\w.]*", ours)[0]
    job = cluster(2)
    runs = job.begin("2")
    world = job.world(2)
    with Wire(job.net[1], job.net[0]) as wire:
        wire.send(hello("0.0.1-other", "job"))
        number, payload = wire.frame()
        assert number == REFUSED and b"0.0.1-other" in payload and ours.encode() in payload, payload
        assert wire.at_end()
    job.end_well(world, *runs)
