"""A process of an earlier round, as one on a host that was frozen, does not reach the store of a later round."""

import pytest

CONNECT = """
import os, pathlib, socket, sys
note = pathlib.Path(sys.argv[1])
port = int(os.environ["MASTER_PORT"])
socket.create_connection((os.environ["MASTER_ADDR"], port)).close()
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    note.write_text(str(port))
    sys.exit(3)
earlier = socket.socket()
sys.exit(0 if earlier.connect_ex((os.environ["MASTER_ADDR"], int(note.read_text()))) else 4)
"""


@pytest.mark.parametrize("options", [[], ["--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]])
def test_the_port_of_an_earlier_round_is_closed(dlaunch, tmp_path, options):
    program = tmp_path / "connect.py"
    program.write_text(CONNECT)
    result = dlaunch("--max-restarts=1", "--rdzv-conf=last_call_timeout=0.2", *options, program, tmp_path / "port")
    assert result.rc == 0, result.err
