"""Thousands of silent connections: a late node can still join, the job goes on, and each is closed at its deadline."""

import pytest
import resource

from processes import until
from wire import Wire

COUNT = 3000


@pytest.fixture
def many_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < COUNT + 200:
        pytest.skip(f"only {before[1]} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], COUNT + 200), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_job_goes_on(cluster, many_files):
    job = cluster(2)
    runs = [job.join(job.net[0], "2", "--max-restarts=1")]
    job.net[0].await_connection(job.net[0])
    silent = [Wire(job.net[1], job.net[0]) for _ in range(COUNT)]
    runs.append(job.join(job.net[1], "2", "--max-restarts=1"))
    world = job.world(2)
    job.order(1, "exit 3")
    after = job.world(2, after=world)
    until(lambda: all(wire.closed() for wire in silent), 25, "the end of every silent connection")
    job.end_well(after, *runs)
    for wire in silent:
        wire.close()
