"""--start-method=fork on several nodes: each node has its own template, and the failure of one fails the whole job."""

from forked import lines, program  # noqa: F401
from hosts import PORT


def words(host, *rest):
    return ["--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={host.name}:{PORT}", "--rdzv-id=job",
            "--start-method=fork", *rest]  # fmt: skip


def test_forks_of_two_nodes(hosts, program):
    net = hosts(2)
    runs = [host.start(*words(net[0], program)) for host in net]
    results = [run.wait() for run in runs]
    output = [line for result in results for line in result.out.splitlines() if line.startswith("rank")]
    assert [result.rc for result in results] == [0, 0] and sorted(output) == [f"rank {rank} of 4" for rank in range(4)]


def test_a_forked_worker_dies_early(hosts, program, seen):
    net = hosts(2)
    runs = [host.start(*words(net[0], "--max-restarts=1", program, "worker-dies")) for host in net]
    for run in runs:
        result = run.wait()
        assert result.rc == 0 and "was killed by SIGKILL" in result.err and "restart 1 of 1" in result.err, result.err
    assert len(lines(seen / "prepared")) in (2, 3), "one that was not at its fork point may have been stopped"


def test_a_template_reaches_its_fork_point_during_the_stop(hosts, program, seen):
    """The template is stopped with its round; late effects of the stop do not affect the next round."""
    net = hosts(2)
    runs = [host.start(*words(net[0], "--max-restarts=1", program, how))
            for host, how in zip(net, ("ends-after-late", "late"))]  # fmt: skip
    for run in runs:
        result = run.wait()
        assert result.rc == 0 and "restart 1 of 1" in result.err, result.err
    assert len(lines(seen / "prepared")) == 4


def test_a_template_that_cannot_be_forked(hosts, program, seen):
    net = hosts(2)
    runs = [host.start(*words(net[0], "--max-restarts=3", program, how)) for host, how in zip(net, ("stays", "threads"))]
    for run in runs:
        result = run.wait()
        assert result.rc == 126 and net[1].name in result.err and "it has 2 threads" in result.err, result.err
    assert len(lines(seen / "prepared")) <= 2, "no restart was spent"
