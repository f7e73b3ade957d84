"""A name server that never answers does not delay the agent's handling of signals and time-outs."""

import signal

import pytest

from processes import until

BLIND = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'  # in the host's own mounts


@pytest.fixture
def blind(hosts, tmp_path, binary):
    """blind(*options) -> a run of two nodes on a host that drops DNS queries."""

    def blind_(*options):
        host = hosts(1)[0]
        table = tmp_path / "resolv.conf"
        table.write_text("nameserver 198.51.100.1\noptions timeout:30 attempts:5\n")
        host.ip(
            "route add 198.51.100.1/32 dev eth0",
            "neigh add 198.51.100.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent",  # an unused MAC address
        )
        words = [binary, "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=far.example.org:29400", *options, "true"]
        run = host.start("-c", BLIND, table, *words, program="sh")
        until(run.workers_parent, 10, "the start of the agent")
        return run

    return blind_


def test_sigterm_ends_it_at_once(blind):
    run = blind()
    run.agent()
    run.signal(signal.SIGTERM)
    result = run.wait(5)
    assert result.rc == 143


def test_the_time_out_names_the_unresolved_host(blind):
    result = blind("--rdzv-conf=join_timeout=2").wait(10)
    assert result.rc == 80 and "far.example.org" in result.err and "timed out after 2 s" in result.err
