"""timeout(1) signals its child and then the child's group: one request, not two."""

import os
import signal

import pytest

from workers import IDLE

pytestmark = pytest.mark.needs("timeout")
SAVES = "trap 'sleep 0.3; note saved.$RANK; exit 0' TERM\nready\n" + IDLE


@pytest.mark.parametrize("options", [[], ["--foreground"]], ids=["group", "child"])
def test_workers_have_their_grace(job, seen, options):
    run = job(SAVES, prefix=("timeout", "--preserve-status", *options, "600"))
    run.ready(2)
    run.signal(signal.SIGTERM)
    result = run.wait(10)
    assert result.rc == 143 and len(list(seen.glob("saved.*"))) == 2
    run.nothing_left()


def test_a_signal_to_the_whole_group(start, shell_worker, seen, binary):
    run = start(
        "-c",
        f"trap : TERM; '{binary}' --nproc-per-node=2 --no-python '{shell_worker(SAVES)}'; echo status $?",
        program="sh",
    )
    run.ready(2)
    os.killpg(run.pid, signal.SIGTERM)
    result = run.wait(10)
    assert result.out == "status 143\n" and len(list(seen.glob("saved.*"))) == 2
