"""`dlaunch coordinator` prints the report that the nodes print, with the program and the restarts."""

from hosts import PORT
from processes import until
from running import without_open_line


def test_it_is_the_report_of_the_nodes(cluster):
    job = cluster(3)
    options = ("--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=job", "--max-restarts=1")
    coordinator = job.net[0].start("coordinator", "--nnodes=2", *options)
    until(lambda: "listens on" in coordinator.out(), 10, "the coordinator")
    runs = job.begin("2", "--max-restarts=1", hosts=job.net.all[1:])
    world = job.world(2)
    job.order(0, "exit 4")
    job.world(2, after=world)
    job.order(1, "exit 9")
    node, _, own = [run.wait(20) for run in (*runs, coordinator)]
    assert node.rc == own.rc == 9
    lines = [line for line in own.err.splitlines() if line.startswith("  restarts:")]
    assert lines[0].startswith("  restarts:      1 of 1 were used, the job ran ")
    for line in without_open_line(own.err).splitlines():
        assert line.split(", the job ran")[0] in node.err, line
