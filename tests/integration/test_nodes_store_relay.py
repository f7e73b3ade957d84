"""With --store=relay, or with a token, workers reach the round's store through their agent: a connection for each node."""

import json
import subprocess
from pathlib import Path

import pytest
from processes import until

CLIENT = """
import socket, struct
def vector(text):
    return struct.pack("<Q", len(text)) + text
def client():
    s = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10)
    s.sendall(b"\\0\\xce\\xf7\\x85\\x3c")
    return s
def received(s, size):
    got = s.recv(size, socket.MSG_WAITALL)
    assert len(got) == size, got
    return got
"""
# Every rank has three connections, adds itself, and waits for the last one.
WORKER = CLIENT + """
import json
world = int(os.environ["WORLD_SIZE"])
mine = [client() for _ in range(3)]
mine[0].sendall(b"\\4" + vector(b"count") + struct.pack("<q", 1))
if struct.unpack("<q", received(mine[0], 8))[0] == world:
    mine[0].sendall(b"\\1" + vector(b"all") + vector(b"here"))
for s in mine:
    s.sendall(b"\\6" + struct.pack("<Q", 1) + vector(b"all"))
for s in mine:
    assert received(s, 1) == b"\\0"
    s.sendall(b"\\3" + vector(b"all"))
for s in mine:
    assert received(s, 12)[8:] == b"here"
note(f"env.{rank}", json.dumps(dict(os.environ)))
await_note("end")
"""
PROBE = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
s.sendall(b"\\0\\xce\\xf7\\x85\\x3c\\7")
sys.exit(0 if len(s.recv(8, socket.MSG_WAITALL)) == 8 else 1)
"""


@pytest.fixture(params=["relay", "token"])
def options(request, tmp_path):
    if request.param == "relay":
        return ["--store=relay"]
    path = tmp_path / "token"
    path.write_text("a-token-of-this-job")
    path.chmod(0o600)
    return [f"--token-file={path}"]


@pytest.fixture
def probe(tmp_path):
    """probe(host, address, port, *prefix) -> whether a client of the store is served there."""
    path = tmp_path / "probe.py"
    path.write_text(PROBE)

    def probe_(host, address, port, *prefix):
        words = host.enter("/", *prefix, "python3", "-S", "-c", PROBE, address, str(port))
        return subprocess.run(words, capture_output=True).returncode == 0

    return probe_


def environments(seen, size):
    paths = [seen / f"env.{rank}" for rank in range(size)]
    until(lambda: all(path.exists() for path in paths), 20, "all workers behind their store")
    return [json.loads(path.read_text()) for path in paths]


def connections(host, port):
    """Established connections of a host's listener, by the peer's address."""
    lines = Path(f"/proc/{host.init}/net/tcp").read_text().splitlines()[1:]
    words = [line.split() for line in lines]
    return [remote.partition(":")[0] for _, local, remote, state, *_ in words if local.endswith(f":{port:04X}") and state == "01"]


def test_each_node_has_one_connection_to_the_store(cluster, python_worker, seen, options, probe):
    job = cluster(2)
    job.program = python_worker(WORKER)
    runs = [job.join(host, "2", "--event-log", seen / f"events.{host.name}", *options, each=3) for host in job.net]
    found = environments(seen, 6)
    assert {env["MASTER_ADDR"] for env in found} == {"127.0.0.1"}
    assert {env["DLAUNCH_MASTER_HOST"] for env in found} == {job.net[0].address}
    ports = [{env["MASTER_PORT"] for env in found if env["GROUP_RANK"] == str(node)} for node in (0, 1)]
    assert [len(each) for each in ports] == [1, 1]
    began = next(json.loads(line) for line in (seen / "events.node1").read_text().splitlines() if '"master_port"' in line)
    place, port = began["master_addr"], began["master_port"]
    assert place == job.net[0].address
    assert len(connections(job.net[0], port)) == 2
    assert not probe(job.net[1], place, port), "the store itself serves relays only"
    relay = ports[1].pop()
    assert probe(job.net[1], "127.0.0.1", relay)
    assert not probe(job.net[1], "127.0.0.1", relay, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    (seen / "end").touch()
    assert [run.wait(20).rc for run in runs] == [0, 0], runs[0].err()


def test_an_open_store_with_a_token(cluster, python_worker, seen, tmp_path, probe):
    path = tmp_path / "token"
    path.write_text("a-token-of-this-job")
    path.chmod(0o600)
    job = cluster(2)
    job.program = python_worker(WORKER)
    runs = [job.join(host, "2", f"--token-file={path}", "--store=open") for host in job.net]
    found = environments(seen, 2)
    assert {env["MASTER_ADDR"] for env in found} == {job.net[0].address}
    assert probe(job.net[1], job.net[0].address, found[0]["MASTER_PORT"])
    (seen / "end").touch()
    assert [run.wait(20).rc for run in runs] == [0, 0], runs[0].err()


def test_the_option_of_the_coordinator_counts(cluster, python_worker, seen):
    job = cluster(2)
    job.program = python_worker(WORKER)
    runs = [job.join(job.net[0], "2", "--store=relay"), job.join(job.net[1], "2")]
    assert {env["MASTER_ADDR"] for env in environments(seen, 2)} == {"127.0.0.1"}
    (seen / "end").touch()
    assert [run.wait(20).rc for run in runs] == [0, 0], runs[0].err()
    assert "this node has --store=open; the job runs with --store=relay of node1" in runs[1].err()


def test_a_job_of_one_node_serves_its_own_user(hosts, python_worker, seen, options, probe):
    (host,) = hosts(1)
    run = host.start("--nproc-per-node=2", *options, "--no-python", python_worker(WORKER))
    found = environments(seen, 2)
    place = found[0]["MASTER_ADDR"], found[0]["MASTER_PORT"]
    assert place[0] == "127.0.0.1"
    assert probe(host, *place)
    assert not probe(host, *place, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    (seen / "end").touch()
    assert run.wait(20).rc == 0, run.err()


def test_dry_run_shows_the_choice(dlaunch):
    for options, store in [([], "open"), (["--store=relay"], "relay"), (["--store=open"], "open")]:
        plan = json.loads(dlaunch("--dry-run", *options, "true").out)
        assert plan["rendezvous"]["store"] == store
    result = dlaunch("--store=closed", "true")
    assert (result.rc, result.err) == (2, "dlaunch: --store=closed: expected open or relay\n")
