"""Programs side by side on several nodes: ranks count through all workers of the first program, then the second's."""

import socket

import pytest
from hosts import PORT
from processes import until

TELL = """note "place.$DLAUNCH_ROUND.$RANK" "$(cat /proc/sys/kernel/hostname) $LOCAL_RANK/$LOCAL_WORLD_SIZE \
$ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE $DLAUNCH_APPNUM of $WORLD_SIZE"
note "socket.$RANK" "$DLAUNCH_AGENT_SOCKET"
"""
WORK = TELL + 'trap "" TERM; await go\n'


class Job:
    def __init__(self, net, seen, programs):
        self.net, self.seen, self.programs, self.runs = net, seen, programs, []

    def join(self, host, *contexts, options=()):
        """`contexts`: words before the programs `ps` and `worker`."""
        words = []
        for program, of_context in contexts:
            words += [*([":"] if words else []), *of_context, self.programs[program]]
        common = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=j", "--grace=1", *options]
        self.runs.append(host.start(*common, "--no-python", *words))

    def world(self, size, number=0):
        notes = lambda: [self.seen / f"place.{number}.{rank}" for rank in range(size)]
        until(lambda: all(path.exists() for path in notes()), 20, f"a world of {size}")
        return [path.read_text() for path in notes()]


@pytest.fixture
def job(hosts, seen, shell_worker):
    return Job(hosts(2), seen, {name: shell_worker(WORK, name) for name in ("ps", "worker")})


def test_the_same_command_on_every_node(job):
    for host in job.net:
        job.join(host, ("ps", ["-n", 2]), ("worker", ["-n", 4]))
    assert job.world(6) == [
        "node1 0/3 ps 0/2 0 of 6",
        "node2 0/3 ps 1/2 0 of 6",
        "node1 1/3 worker 0/4 1 of 6",
        "node1 2/3 worker 1/4 1 of 6",
        "node2 1/3 worker 2/4 1 of 6",
        "node2 2/3 worker 3/4 1 of 6",
    ]
    (job.seen / "go").touch()
    assert [run.wait().rc for run in job.runs] == [0, 0]


def test_a_node_with_some_of_the_programs(job):
    job.join(job.net[0], ("ps", []), ("worker", ["--nproc-per-node=2"]))
    job.join(job.net[1], ("worker", ["--appnum=1"]))
    assert job.world(4) == [
        "node1 0/3 ps 0/1 0 of 4",
        "node1 1/3 worker 0/3 1 of 4",
        "node1 2/3 worker 1/3 1 of 4",
        "node2 0/1 worker 2/3 1 of 4",
    ]
    (job.seen / "go").touch()
    assert [run.wait().rc for run in job.runs] == [0, 0]


def test_the_ranks_of_a_lost_node_are_two_ranges(job):
    for host in job.net:
        job.join(host, ("ps", []), ("worker", ["--nproc-per-node=2"]), options=["--node-timeout=2"])
    job.world(6)
    until(lambda: (job.seen / "socket.0").exists(), 5, "the socket of node1")
    path = (job.seen / "socket.0").read_text()
    with socket.socket(socket.AF_UNIX) as follower:
        follower.settimeout(10)
        follower.connect(path)
        follower.sendall(b"losses\n")
        job.net[1].kill_all()
        with follower.makefile() as lines:
            assert [lines.readline() for _ in range(2)] == ["lost 1 1 node2 was lost\n", "lost 4 2 node2 was lost\n"]
