"""How the endpoint may be written: a name, an address, IPv6; and what a node's own name may stand for."""

import pytest


@pytest.mark.parametrize("endpoint", ["node1", "10.86.0.1", "[fd86::1]:29401"], ids=["name", "v4", "v6"])
def test_the_nodes_meet(meeting, endpoint):
    job = meeting(2)
    runs = job.begin("2", "--max-restarts=1", endpoint=endpoint)
    world = job.world(2)
    job.order(1, "exit 3")
    after = job.world(2, after=world)
    job.end_well(after, *runs)


@pytest.mark.parametrize("endpoint", ["node1", "10.86.0.1"])
def test_a_nodes_own_name_is_127_0_1_1(meeting, endpoint):
    """As Debian's installer writes it: what the others are told is an address that they can reach."""
    job = meeting(2, own_name_is_loopback=True)
    runs = job.begin("2", endpoint=endpoint)
    world = job.world(2)
    assert {master.rpartition(":")[0] for master in world.masters} == {"10.86.0.1"}
    job.end_well(world, *runs)
