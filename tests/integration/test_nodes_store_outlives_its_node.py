"""The round's store remains available after the workers of its node have exited."""

from processes import until

WORKER = """
import socket
if rank == 0:
    sys.exit(0)
await_note("rank 0 is gone")
with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10) as s:
    s.sendall(b"\\0\\xce\\xf7\\x85\\x3c\\7")
    note("keys", s.recv(8, socket.MSG_WAITALL).hex())
"""


def test_a_node_that_is_done_serves_the_others(cluster, python_worker, seen):
    job = cluster(2)
    job.program = python_worker(WORKER)
    log = seen / "events"
    runs = [job.join(job.net[0], "2", "--event-log", log), job.join(job.net[1], "2")]
    until(lambda: log.exists() and '"round_over"' in log.read_text(), 20, "the end of rank 0's node")
    (seen / "rank 0 is gone").touch()
    assert [run.wait(20).rc for run in runs] == [0, 0], runs[1].err()
    assert (seen / "keys").read_text() == "0" * 16
