"""The disk of one node's log files is unresponsive for longer than --node-timeout: no worker of any node is touched."""

import os
import signal
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


@pytest.mark.root
def test_an_agent_that_restarts_after_the_end_of_the_job_does_not_run_it_again(tmp_path, cluster):
    """The disk holds up the start of an agent that its guard has restarted, and the other node ends the job."""
    with still_disk(tmp_path) as disk:
        job = cluster(2)
        options = ("1:2", f"--node-timeout={NODE_TIMEOUT}")
        runs = [job.join(job.net[0], *options, "-r", "3", f"--log-dir={disk.path}"), job.join(job.net[1], *options)]
        world = job.world(2)
        with disk.frozen():
            os.kill(runs[0].agent(), signal.SIGKILL)
            after = job.world(1, after=world)
            job.order(0, "exit 0")
            assert runs[1].wait(15).rc == 0
        assert runs[0].wait(15).rc == 0
        assert job.rounds() == after.round + 1
