"""Spellings of the endpoint: a name, an address, IPv6; and addresses to which a node's own name may resolve."""

import pytest

from processes import until


@pytest.mark.parametrize("endpoint", ["node1", "10.86.0.1", "[fd86::1]:29401"], ids=["name", "v4", "v6"])
def test_the_nodes_join(cluster, endpoint):
    job = cluster(2)
    runs = job.begin("2", "--max-restarts=1", endpoint=endpoint)
    world = job.world(2)
    job.order(1, "exit 3")
    after = job.world(2, after=world)
    job.end_well(after, *runs)


OWN_NAMES = ["node1", "NODE1", "node1.example.com"]
REACH = """python3 -c 'import os, socket
socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 5)' && note reached.$RANK yes"""


@pytest.mark.parametrize("endpoint", [*OWN_NAMES, "10.86.0.1"])
def test_a_nodes_own_name_is_127_0_1_1(cluster, endpoint):
    """The own name is 127.0.1.1, as Debian's installer writes it: the advertised address is reachable from other nodes."""
    job = cluster(2, own_name_is_loopback=True)
    runs = job.begin("2", endpoint=endpoint)
    world = job.world(2)
    assert world.master_addresses == {"10.86.0.1"}
    job.end_well(world, *runs)


@pytest.mark.parametrize("name", OWN_NAMES)
def test_the_master_addr_is_127_0_1_1_on_its_own_node(cluster, seen, name):
    """The store listens on an address that both remote and local workers reach."""
    job = cluster(2, own_name_is_loopback=True)
    words = ["--nnodes=2", f"--master-addr={name}", "--master-port=29555", "--no-python", str(job.program)]
    runs = [host.start(f"--node-rank={rank}", *words) for rank, host in enumerate(job.net)]
    world = job.world(2)
    for rank in (0, 1):
        job.order(rank, REACH.replace("\n", "; "))
    until(lambda: all((seen / f"reached.{rank}").exists() for rank in (0, 1)), 10, "a connection of each to the store")
    job.end_well(world, *runs)
