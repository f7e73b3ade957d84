"""The coordinator is reached at an address that is not its host's own, as behind a service, a router or a tunnel."""

import contextlib
import socket
import threading

from hosts import PORT, inside


class Relay:
    """Relays connections to a port of one host to the same port of another; closes them while that port is not open."""

    def __init__(self, at, target, port):
        self.at, self.target, self.port = at, target, port
        with inside(at):
            self.listener = socket.create_server((at.address, port))
        self.open, self.threads = [], []
        self.spawn(self.serve)

    def spawn(self, work, *args):
        self.threads.append(threading.Thread(target=work, args=args))
        self.threads[-1].start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with inside(self.at):
                    server = socket.socket()
                self.open += [client, server]
                try:
                    server.connect((self.target.address, self.port))
                except OSError:
                    client.close()
                    continue
                self.spawn(self.carry, client, server)
                self.spawn(self.carry, server, client)

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while words := source.recv(1 << 16):
                target.sendall(words)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        for each in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self.threads:
            thread.join()


def test_is_host_selects_the_hosting_node(cluster):
    job = cluster(3)
    with contextlib.closing(Relay(job.net["node3"], job.net["node1"], PORT)):
        host = job.join(job.net["node1"], "2", endpoint="node3", conf="is_host=true")
        job.net["node1"].await_connection(job.net["node1"])
        other = job.join(job.net["node2"], "2", endpoint="node3", conf="is_host=false")
        world = job.world(2)
        assert world.hosts == ["node1", "node2"]
        job.end_well(world, host, other)


def test_static_rank_0_hosts_wherever_it_is(cluster):
    """As with torchrun, workers find the store at the address that all nodes were given."""
    job = cluster(3)
    words = lambda rank: [
        "--nnodes=2",
        f"--node-rank={rank}",
        "--master-addr=node3",
        f"--master-port={PORT}",
        "--no-python",
        str(job.program),
    ]
    with contextlib.closing(Relay(job.net["node3"], job.net["node1"], PORT)):
        host = job.net["node1"].start(*words(0))
        job.net["node1"].await_connection(job.net["node1"])
        other = job.net["node2"].start(*words(1))
        world = job.world(2)
        assert world.masters == {f"node3:{PORT}"}
        job.end_well(world, host, other)
