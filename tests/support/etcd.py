"""etcd of Debian's packages: members on hosts of a test, which may be killed, frozen, emptied and restarted."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from processes import children, until

CLIENTS, PEERS = 2379, 2380


class Member:
    """One process of an etcd cluster, on a host of its own. `certificates`: a folder with ca, server and client .crt and .key."""

    def __init__(self, host, folder, certificates=None):
        self.host, self.data, self.certificates = host, Path(folder, f"etcd-{host.name}"), certificates
        self.log = Path(folder, f"etcd-{host.name}.log")
        scheme = "https" if certificates else "http"
        self.url, self.peer_url = f"{scheme}://{host.address}:{CLIENTS}", f"http://{host.address}:{PEERS}"
        self.process = None

    def start(self, cluster="", state="new"):
        words = ["etcd", "--name", self.host.name, "--data-dir", self.data, "--log-level", "error"]
        words += ["--listen-client-urls", self.url, "--advertise-client-urls", self.url]
        words += ["--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url]
        words += ["--initial-cluster", cluster or f"{self.host.name}={self.peer_url}", "--initial-cluster-state", state]
        if self.certificates:
            at = self.certificates
            words += ["--cert-file", at / "server.crt", "--key-file", at / "server.key"]
            words += ["--trusted-ca-file", at / "ca.crt", "--client-cert-auth"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.host.enter("/", *map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def pid(self):
        return children(self.process.pid)[0]

    def ctl(self, *words):
        more = []
        if self.certificates:
            at = self.certificates
            more = ["--cacert", at / "ca.crt", "--cert", at / "client.crt", "--key", at / "client.key"]
        line = ["env", "ETCDCTL_API=3", "etcdctl", "--endpoints", self.url, "--command-timeout", "3s", *more, *words]
        return subprocess.run(self.host.enter("/", *map(str, line)), capture_output=True, text=True, timeout=60)

    def serves(self):
        return self.ctl("get", "anything").returncode == 0

    def keys(self):
        return self.ctl("get", "", "--from-key", "--keys-only").stdout.split()

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()

    def freeze(self):
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self):
        """Also nsenter, which stops with its child."""
        os.kill(self.pid, signal.SIGCONT)
        os.kill(self.process.pid, signal.SIGCONT)


class Etcd:
    """A cluster with a member on each of these hosts."""

    def __init__(self, hosts, folder, certificates=None):
        self.members = [Member(host, folder, certificates) for host in hosts]
        self.cluster = ",".join(f"{each.host.name}={each.peer_url}" for each in self.members)
        self.start()

    @property
    def endpoint(self):
        return "etcd://" + ",".join(f"{each.host.address}:{CLIENTS}" for each in self.members)

    def start(self):
        for member in self.members:
            member.start(self.cluster)
        until(lambda: all(each.serves() for each in self.members), 30, "etcd's start")

    def leader(self):
        """The first member that reports itself as the leader; None if there is none."""
        for member in self.members:
            done = member.ctl("endpoint", "status", "--write-out", "fields")
            fields = dict(line.split(" : ", 1) for line in done.stdout.splitlines() if " : " in line)
            if done.returncode == 0 and fields['"MemberID"'] == fields['"Leader"']:
                return member
        return None

    def empty(self):
        """Kills all members, deletes their data and starts them anew."""
        for member in self.members:
            member.kill()
            shutil.rmtree(member.data)
        self.start()
