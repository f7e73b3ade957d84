"""The hosting node's own name is wrong at its start, as in an /etc/hosts that cloud-init has not rewritten yet."""

import socket
from pathlib import Path

from hosts import PORT, inside


def test_a_node_hosts_as_soon_as_its_own_name_is_right(cluster):
    job = cluster(3, own_name_is_loopback=True)  # a table for each host
    node1, node2, node3 = job.net
    table = Path(job.net.folder, "etc-hosts.node1")
    wrong = table.read_text().replace("127.0.1.1 ", f"{node3.address} ")
    table.write_text(wrong)
    with inside(node3):
        listener = socket.create_server((node3.address, PORT))
    listener.settimeout(10)
    runs = job.begin("2", hosts=[node1, node2])
    with listener:
        client, source = listener.accept()
        client.close()
    assert source[0] == node1.address
    table.write_text(wrong.replace(f"{node3.address} node1.", f"{node1.address} node1."))
    world = job.world(2)
    assert world.hosts == ["node1", "node2"]
    job.end_well(world, *runs)
