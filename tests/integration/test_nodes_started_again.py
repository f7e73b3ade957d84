"""A job of two nodes, one dlaunch is killed: with a restart left the job waits, and continues when dlaunch starts there again."""

import os
import signal


def test_the_job_goes_on(cluster):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1")
    world = job.world(2)
    os.kill(runs[1].pid, signal.SIGKILL)
    runs[1].wait(5)
    again = job.join(job.net["node2"], "2", "--max-restarts=1")
    after = job.world(2, after=world)
    assert after.hosts == ["node1", "node2"] and after.restarts == {0}
    job.end_well(after, runs[0], again)
