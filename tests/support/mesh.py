"""Workers that hold a mesh of connections, as those of a framework do. FOLDER is for their ports, a new one for each run.

Rank CULPRIT runs the code in PLAY, once all connections exist. Its peers print MESSAGE, if it is not empty, to WHERE
("stderr"), and a traceback: with RAISES an EOFError with that text, with PARSES the error of a parser of what they
receive. Then they wait for LATER seconds, note the time in the link RANK.end, and exit with 1; the ranks in STAY do not
exit. The ranks in SURVIVES print a traceback at the beginning, or log an exception with LOGS.
"""

MESH = r"""
import json, logging, os, select, signal, socket, sys, time, traceback
rank, world, folder = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["FOLDER"]
listener = socket.create_server(("127.0.0.1", 0))
with open(f"{folder}/{rank}.part", "w") as file: file.write(str(listener.getsockname()[1]))
os.rename(f"{folder}/{rank}.part", f"{folder}/{rank}")
peers = []
for other in range(rank):
    while not os.path.exists(f"{folder}/{other}"): time.sleep(0.001)
    peers.append(socket.create_connection(("127.0.0.1", int(open(f"{folder}/{other}").read()))))
while len(peers) < world - 1: peers.append(listener.accept()[0])
if rank == int(os.environ["CULPRIT"]):
    for peer in peers: peer.recv(1)  # all ranks have all connections
    exec(compile(os.environ["PLAY"], "play.py", "exec"))
if rank in map(int, os.environ.get("SURVIVES", "").split()):
    try: raise KeyError("a cache miss")
    except KeyError: logging.exception("slow path") if "LOGS" in os.environ else traceback.print_exc()
for peer in peers: peer.sendall(b"x")
try:
    while all(peer.recv(1) for peer in select.select(peers, [], [])[0]): pass
except OSError:
    pass  # a reset: the message is the same
finally:
    message = os.environ.get("MESSAGE", "connection closed by peer")
    if message: print("error:", message, file=getattr(sys, os.environ.get("WHERE", "stderr")), flush=True)
    try:
        if "RAISES" in os.environ: raise EOFError(os.environ["RAISES"])
        if "PARSES" in os.environ: dict(pair.split("=") for pair in peers[-1].recv(9).decode().split(";"))
    except Exception:
        traceback.print_exc()
    if rank in map(int, os.environ.get("STAY", "").split()): signal.pause()
    time.sleep(float(os.environ.get("LATER", 0)))
    os.symlink(str(time.monotonic()), f"{folder}/{rank}.end")  # whole or not at all
    os._exit(1)
"""
CLOSE = "for peer in peers: peer.shutdown(socket.SHUT_RDWR); peer.close()\n"


def head(result):
    """The line of the report that names the cause."""
    return next(line for line in result.err.splitlines() if line.startswith("dlaunch: rank"))
