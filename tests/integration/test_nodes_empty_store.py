"""No key of a round is visible in the next one, also if coordinator and worker store share a port."""

import pytest

# Rank 1 sets /old and fails, in the first round only; in the second round, rank 0 reports the number of keys.
WORKER = """
import socket, struct
def asked(bytes, size):
    with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10) as s:
        s.sendall(b"\\0\\xce\\xf7\\x85\\x3c" + bytes)
        return s.recv(size, socket.MSG_WAITALL)
SET = b"\\1" + struct.pack("<Q", 4) + b"/old" + struct.pack("<Q", 1) + b"v"
PING = b"\\x0d" + struct.pack("<I", 7)
NUM_KEYS = b"\\7"
if os.environ["DLAUNCH_ROUND"] == "0":
    if rank == 1:
        assert asked(SET + NUM_KEYS, 8) == struct.pack("<Q", 1)
        # Exits right after the request, like a worker that dies meanwhile.
        s = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10)
        s.sendall(b"\\0\\xce\\xf7\\x85\\x3c" + SET)
        os._exit(3)
    await_note("never")
note(f"keys.{rank}", struct.unpack("<Q", asked(NUM_KEYS, 8))[0])
"""
STATIC = ["--node-rank={rank}", "--master-addr=node1", "--master-port=29555"]
ELASTIC = ["--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400"]


@pytest.mark.parametrize(
    "how", [STATIC, ELASTIC, [*ELASTIC, "--master-port=29555"]], ids=["static", "elastic", "own-port"]
)
@pytest.mark.parametrize("store", ["open", "relay", "token"])
def test_the_store_is_empty_in_every_round(hosts, python_worker, seen, how, store, tmp_path):
    net, program = hosts(2), python_worker(WORKER)
    option = f"--store={store}"
    if store == "token":
        path = tmp_path / "token"
        path.write_text("a-token-of-this-job")
        path.chmod(0o600)
        option = f"--token-file={path}"
    how = [*how, option]
    runs = [
        host.start("--nnodes=2", *(word.format(rank=rank) for word in how), "--max-restarts=1", "--no-python", program)
        for rank, host in enumerate(net)
    ]
    assert [run.wait(30).rc for run in runs] == [0, 0], runs[0].err()
    assert [(seen / f"keys.{rank}").read_text() for rank in (0, 1)] == ["0", "0"]
