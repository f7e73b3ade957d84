"""The node whose agent serves the workers' store is lost: the next round has a new store, behind new relays."""

import pytest
from processes import until

# All wait for a key that is never set, through the relay, when the lost node goes.
WORKER = """
import socket, struct
def vector(text):
    return struct.pack("<Q", len(text)) + text
s = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10)
s.sendall(b"\\0\\xce\\xf7\\x85\\x3c\\4" + vector(b"count") + struct.pack("<q", 1))
if struct.unpack("<q", s.recv(8, socket.MSG_WAITALL))[0] == int(os.environ["WORLD_SIZE"]):
    s.sendall(b"\\1" + vector(b"all") + vector(b""))
s.sendall(b"\\6" + struct.pack("<Q", 1) + vector(b"all"))
assert s.recv(1) == b"\\0"
s.sendall(b"\\6" + struct.pack("<Q", 1) + vector(b"never"))
note(f"began.{os.environ['DLAUNCH_ROUND']}.{rank}", os.environ["DLAUNCH_MASTER_HOST"])
await_note("end")
"""


@pytest.mark.parametrize("store", ["relay", "token"])
def test_a_lost_node_takes_its_store_along(cluster, python_worker, seen, tmp_path, store):
    options = ["--node-timeout=2", "--store=relay"]
    if store == "token":
        path = tmp_path / "token"
        path.write_text("a-token-of-this-job")
        path.chmod(0o600)
        options[1] = f"--token-file={path}"
    job = cluster(3)
    job.program = python_worker(WORKER)
    hosts = [job.net[1], job.net[0], job.net[2]]  # the first hosts the coordinator
    runs = [job.join(host, "2:3", *options, endpoint="node2:29400") for host in hosts]

    def served_by(round_, size):
        notes = [seen / f"began.{round_}.{rank}" for rank in range(size)]
        until(lambda: all(path.exists() for path in notes), 30, f"{size} workers behind the store of round {round_}")
        return {path.read_text() for path in notes}

    assert served_by(0, 3) == {job.net[0].address}
    job.net[0].lose()
    assert served_by(1, 2) <= {job.net[1].address, job.net[2].address}
    (seen / "end").touch()
    assert [run.wait(20).rc for run in (runs[0], runs[2])] == [0, 0], runs[0].err()
