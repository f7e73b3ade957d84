"""One node's worker ignores SIGTERM: the next round starts on all nodes after that worker was killed at the end of --grace."""

import time

from processes import until


def test_no_node_starts_before_it_has_ended(cluster, seen):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1", "--grace=1.5", each=2)
    world = job.world(4)
    job.order(0, "trap '' TERM; note stubborn")
    until(lambda: (seen / "stubborn").exists(), 5, "the trap")
    start = time.monotonic()
    job.order(3, "exit 3")
    after = job.world(4, after=world)
    assert 1.4 < time.monotonic() - start, "\n".join(run.err() for run in runs)
    job.end_well(after, *runs)
