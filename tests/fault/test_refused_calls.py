"""System calls that a container's seccomp filter refuses: workers start all the same, and inherit nothing."""

import errno
import platform
import sys

import pytest

from seccomp import CLONE3, CLOSE_RANGE, refusing


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_without_clone3(dlaunch, error):
    result = dlaunch("--nproc-per-node=2", "--no-python", "sh", "-c", "echo rank $RANK", prefix=refusing(CLONE3, error))
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["rank 0", "rank 1"], result.err


def test_a_missing_program_without_clone3(dlaunch):
    result = dlaunch("--nproc-per-node=2", "--no-python", "/nowhere/at/all", prefix=refusing(CLONE3, errno.EPERM))
    assert result.rc == 127 and "/nowhere/at/all" in result.err


# Adds 1 to a counter of the round's store until both ranks have done so.
USES_THE_STORE = """
import os, socket, struct, time
store = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10)
store.sendall(bytes.fromhex("00cef7853c"))  # torch's greeting
def add(amount):
    store.sendall(struct.pack("<BQ1sq", 4, 1, b"k", amount))
    return struct.unpack("<q", store.recv(8, socket.MSG_WAITALL))[0]
add(1)
while add(0) < 2:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("options", [[], ["--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]])
def test_the_store_of_a_round_needs_no_thread(dlaunch, script, options):
    """glibc starts no thread where clone3 fails with EPERM."""
    worker = script("worker", f"#!{sys.executable} -SE\n{USES_THE_STORE}")
    options = ["--rdzv-conf=last_call_timeout=0.2", *options]
    result = dlaunch("--nproc-per-node=2", *options, "--no-python", worker, prefix=refusing(CLONE3, errno.EPERM))
    assert result.rc == 0 and "worker store" not in result.err, result.err


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_workers_inherit_no_descriptor_without_close_range(dlaunch, error):
    caller = ("sh", "-c", 'exec 7</dev/null; exec "$@"', "-")
    worker = "ls /proc/$$/fd | tr '\\n' ' '; echo"
    result = dlaunch("--no-python", "sh", "-c", worker, prefix=(*caller, *refusing(CLOSE_RANGE, error)))
    assert result.rc == 0 and "2" in result.out.split() and "7" not in result.out.split(), result.out


def test_without_signalfd_one_line_gives_the_reason(dlaunch):
    signalfd = 289 if platform.machine() == "x86_64" else 74
    result = dlaunch("--no-python", "true", prefix=refusing(signalfd, errno.EPERM))
    assert result.rc == 126 and len(result.err.splitlines()) == 1, result.err
    assert result.err.startswith("dlaunch: cannot receive signals: signalfd: Operation not permitted"), result.err
