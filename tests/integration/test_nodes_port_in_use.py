"""The endpoint's port is bound by a process that does not listen: the node that must host reports it at once."""

import socket

import pytest


@pytest.fixture
def taken():
    """A port of this machine that is bound, without a listener."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def text(port, option):
    return (
        f"dlaunch: {option}: 127.0.0.1:{port}: Address already in use, by a process that does not answer, "
        "expected a free port\n"
    )


@pytest.mark.parametrize("command", [[], ["check"]], ids=["start", "check"])
def test_it_is_reported_at_once(dlaunch, taken, command):
    result = dlaunch(*command, "--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{taken}", "true")
    assert result.rc == 83 and result.err == text(taken, "--rdzv-endpoint") and result.seconds < 5


def test_in_the_static_form_too(dlaunch, taken):
    result = dlaunch("--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={taken}", "true")
    assert result.rc == 83 and result.err == text(taken, "--master-addr") and result.seconds < 5
