"""The disk of one node's log files stands still for longer than --node-timeout: no worker of any node is touched."""

import time

import pytest

from still_disk import still_disk

NODE_TIMEOUT = 2  # seconds
STILL = NODE_TIMEOUT + 1.5


@pytest.mark.root
@pytest.mark.parametrize("where", [0, 1], ids=["with_the_coordinator", "without"])
def test_no_worker_is_touched(tmp_path, cluster, where):
    with still_disk(tmp_path) as disk:
        job = cluster(2)
        runs = []
        for number, host in enumerate(job.net):
            logs = ["-r", "3", f"--log-dir={disk.path}"] if number == where else []
            runs.append(job.join(host, "2", f"--node-timeout={NODE_TIMEOUT}", "--max-restarts=0", *logs))
        world = job.world(2)
        for rank in (0, 1):
            job.order(rank, '( until [ -e "$SEEN/hush" ]; do echo more; sleep 0.02; done ) &')
        with disk.frozen():
            time.sleep(STILL)  # the length of the fault
        assert job.rounds() == 1
        (job.seen / "hush").touch()
        job.end_well(world, *runs)
