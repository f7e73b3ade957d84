"""An endpoint name with an IPv4 and an IPv6 address; other spellings of addresses."""

import pytest

from hosts import PORT
from processes import until

REACH = """python3 -c 'import os, socket
socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 5)' && note reached.$RANK yes"""


def assert_all_ranks_reach_the_store(job, world):
    for rank in range(len(world.hosts)):
        job.order(rank, REACH.replace("\n", "; "))
    reached = lambda: len(list(job.seen.glob("reached.*"))) == len(world.hosts)
    until(reached, 10, "a connection of each to the store")


def own_table(host, text):
    """Gives one host its own entries in /etc/hosts."""
    table = job_table(host)
    table.write_text("127.0.0.1 localhost\n" + text)
    return ["-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(table)]


def job_table(host):
    return host.net.folder / f"own-hosts.{host.name}"


def begin(job, tables, nnodes="2", extra=([], [])):
    """Starts the job, each host with its own /etc/hosts."""
    runs = []
    for host, text, more in zip(job.net, tables, extra):
        words = job.words(nnodes, *more, endpoint="both")
        runs.append(host.start(*own_table(host, text), str(job.net.binary), *words, program="sh"))
    return runs


FOUR, SIX = "10.86.0.1 both\n", "fd86::1 both\n"


@pytest.mark.parametrize("others", [FOUR, SIX, FOUR + SIX, SIX + FOUR], ids=["v4", "v6", "v4_v6", "v6_v4"])
def test_clients_reach_a_host_with_both_at_any(cluster, others):
    job = cluster(2)
    runs = begin(job, [SIX + FOUR, others])
    world = job.world(2)
    assert_all_ranks_reach_the_store(job, world)
    job.end_well(world, *runs)


@pytest.mark.parametrize("known", [FOUR, SIX], ids=["v4", "v6"])
def test_one_of_the_hosts_addresses_drops_packets(cluster, known):
    """Packets to the unused address are dropped without an error."""
    job = cluster(2)
    hole = "10.86.9.9" if known == SIX else "fd86:0:0:9::9"
    host = job.net[1]
    if known == SIX:
        host.ip("route add 10.86.9.9/32 dev eth0", "neigh add 10.86.9.9 lladdr 02:00:00:00:00:99 dev eth0 nud permanent")
    else:
        host.ip(f"route add {hole}/128 dev eth0", f"neigh add {hole} lladdr 02:00:00:00:00:99 dev eth0 nud permanent")
    runs = begin(job, [known, f"{hole} both\n{known}"])
    world = job.world(2)
    assert_all_ranks_reach_the_store(job, world)
    job.end_well(world, *runs)


@pytest.mark.parametrize("lacks", [None, "10.86.0.{}/24", "fd86::{}/64"], ids=["none", "v4", "v6"])
@pytest.mark.parametrize("which", [1, 2])
def test_one_node_has_one_kind_only(cluster, lacks, which):
    """The store's address is of the family that all nodes have, whichever node serves it."""
    job = cluster(3)
    if lacks:
        job.net[which].ip(f"addr del {lacks.format(which + 1)} dev eth0")
    table = SIX + FOUR
    runs = begin(job, [table] * 3, "3", extra=[["--node-rank=2"], ["--node-rank=1"], ["--node-rank=0"]])
    world = job.world(3)
    assert world.hosts == ["node3", "node2", "node1"]
    assert_all_ranks_reach_the_store(job, world)
    job.end_well(world, *runs)


@pytest.mark.parametrize("endpoint", [f"[::ffff:10.86.0.1]:{PORT}", f"[::ffff:a56:1]:{PORT}"])
def test_an_ipv4_mapped_ipv6_address(cluster, endpoint):
    job = cluster(2)
    runs = job.begin("2", endpoint=endpoint)
    world = job.world(2)
    assert world.master_addresses == {"10.86.0.1"}
    job.end_well(world, *runs)


def test_a_link_local_address_with_each_nodes_own_interface(cluster):
    job = cluster(2)
    job.net[1].ip("link set eth0 down", "link set eth0 name net7", "addr add fe80::2/64 dev net7 nodad", "link set net7 up")
    job.net[0].ip("addr add fe80::1/64 dev eth0 nodad")
    runs = [
        job.join(host, "2", endpoint=f"[fe80::1%{device}]:{PORT}") for host, device in zip(job.net, ("eth0", "net7"))
    ]
    world = job.world(2)
    assert world.master_addresses == {"fe80::1%eth0", "fe80::1%net7"}
    assert_all_ranks_reach_the_store(job, world)
    job.end_well(world, *runs)
