"""Several hosts simulated on one machine, each with its own name, network, processes and /dev/shm, on one switch.

A host is a set of namespaces held by an init process: when the init ends, the kernel kills every process of the host,
like a power cut. The init reads a pipe that only the test holds open, so that no host outlives the test, however it
ends. All interfaces and addresses are inside the namespaces: concurrent test runs do not interfere, and the network of
this machine stays untouched.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
from pathlib import Path

from processes import all_pids, alive, children, describe, until
from running import Running

PORT = 29400
HOLD = "trap '' CHLD; echo up; exec cat"  # SIGCHLD ignored: the kernel reaps orphans
KINDS = ("--net", "--uts", "--mount", "--ipc", "--pid")


def why_not():
    """Why hosts cannot be simulated here; empty: they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    done = subprocess.run(["unshare", *KINDS, "--fork", "true"], capture_output=True, text=True)
    if done.returncode:
        return f"no namespaces: {done.stderr.strip()}"
    done = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "x", "type", "bridge"], capture_output=True, text=True
    )
    return f"no bridge: {done.stderr.strip()}" if done.returncode else ""


class HostRun(Running):
    """A program on a host. `process` is the nsenter process, `pid` the program itself."""

    host = None
    _pid = None

    @property
    def pid(self):
        if self._pid is None:
            self._pid = until(lambda: self.ended() or children(self.process.pid), 10, "the start on the host")[0]
        return self._pid

    def workers_parent(self):
        """The agent's pid; 0 before it has started."""
        return next((agent for guard in children(self.process.pid) for agent in children(guard)), 0)

    def workers(self):
        """The living workers' pids by global rank."""
        return self.host.by_rank(self.living())


class Space:
    """A set of namespaces, kept until close()."""

    def __init__(self, name, prepare=""):
        self.name = name
        script = f"set -e; hostname {name}; ip link set lo up; {prepare}{HOLD}"
        self.holder = subprocess.Popen(
            ["unshare", *KINDS, "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if self.holder.stdout.readline() != b"up\n":
            raise AssertionError(f"no namespaces for {name}: {self.holder.communicate()[1].decode()}")
        self.init = children(self.holder.pid)[0]
        self.pid_space = os.readlink(f"/proc/{self.init}/ns/pid")

    def enter(self, folder, *words):
        """The command line that runs a program in the namespaces."""
        return ["nsenter", f"--target={self.init}", *KINDS, f"--wdns={folder}", "--", *words]

    def ip(self, *lines):
        done = subprocess.run(
            ["nsenter", f"--target={self.init}", "--net", "ip", "-batch", "-"],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{self.name}: {lines}: {done.stderr}"

    def pids(self):
        """All living processes in the namespaces except the init."""
        found = []
        for pid in all_pids():
            try:
                if os.readlink(f"/proc/{pid}/ns/pid") == self.pid_space and pid != self.init and alive(pid):
                    found.append(pid)
            except OSError:
                continue
        return found

    def close(self):
        if self.holder.poll() is None:
            if alive(self.init):
                os.kill(self.init, signal.SIGKILL)
            self.holder.wait()
        for pipe in (self.holder.stdin, self.holder.stdout, self.holder.stderr):
            pipe.close()


class Host(Space):
    """A simulated host. `down` is true after lose()."""

    def __init__(self, net, name, address, table):
        super().__init__(name, f"mount --bind {shlex.quote(str(table))} /etc/hosts; mount -t tmpfs tmpfs /dev/shm; ")
        self.net, self.address, self.down = net, address, False
        self.plug = f"plug{len(net.all)}"
        net.switch.ip(
            f"link add {self.plug} type veth peer name eth0 netns {self.init}",
            f"link set {self.plug} master switch up",
        )
        self.address_6 = address.replace("10.86.0.", "fd86::")
        self.ip(f"addr add {address}/24 dev eth0", f"addr add {self.address_6}/64 dev eth0 nodad", "link set eth0 up")

    def start(self, *args, program=None, **more):
        """dlaunch, or another program, on this host; otherwise as the fixture `start`."""
        words = self.enter(self.net.folder, str(program or self.net.binary))
        run = self.net.start(*words[1:], *args, program=words[0], **more)
        run.__class__, run.host = HostRun, self
        return run

    def by_rank(self, pids):
        """The workers of this host among these processes, by global rank; the oldest process of each rank."""
        found = {}
        for pid in sorted(set(pids) & set(self.pids())):
            rank = variable(pid, "RANK")
            if rank is not None:
                found.setdefault(int(rank), pid)
        return found

    def empty(self, seconds=5.0):
        """Asserts that nothing runs here, at the latest `seconds` from now."""
        until(lambda: not self.pids(), seconds, f"the end of all on {self.name}: {describe(self.pids())}")

    def connected_to(self, other, port=PORT, unsent=True):
        """Whether a connection to that port is established; without `unsent`, one with an empty send queue."""
        address = f"{struct.unpack('=I', socket.inet_aton(other.address))[0]:08X}:{port:04X}"
        for line in Path(f"/proc/{self.init}/net/tcp").read_text().splitlines()[1:]:
            _, _, remote, state, queues, *_ = line.split()
            if remote == address and state == "01" and (unsent or queues.startswith("00000000:")):
                return True
        return False

    def unread_from(self, other, port=PORT):
        """Whether a connection from that port has unread data here."""
        address = f"{struct.unpack('=I', socket.inet_aton(other.address))[0]:08X}:{port:04X}"
        lines = Path(f"/proc/{self.init}/net/tcp").read_text().splitlines()[1:]
        return any(words[2] == address and not words[4].endswith(":00000000") for words in map(str.split, lines))

    def serves(self, other, port=PORT):
        """Whether this port has a connection from the other host that is not closed here."""
        address = f"{struct.unpack('=I', socket.inet_aton(other.address))[0]:08X}:"
        lines = Path(f"/proc/{self.init}/net/tcp").read_text().splitlines()[1:]
        return any(
            local.endswith(f":{port:04X}") and remote.startswith(address) and state in ("01", "08")
            for _, local, remote, state, *_ in map(str.split, lines)
        )

    def await_connection(self, other, port=PORT):
        until(lambda: self.connected_to(other, port), 10, f"a connection from {self.name} to {other.name}")

    # --- what may happen to a host ---

    def cut(self):
        """Loses all packets to and from the host; the interface keeps its carrier, so no error is reported."""
        self.net.switch.ip(f"link set {self.plug} nomaster")

    def mend(self):
        self.net.switch.ip(f"link set {self.plug} master switch")

    def unplug(self):
        """Takes the carrier away, which the host's kernel reports."""
        self.net.switch.ip(f"link set {self.plug} down")

    def plug_in(self):
        self.net.switch.ip(f"link set {self.plug} up")

    def mute(self, other):
        """Loses packets to the other host; packets from the other host still arrive."""
        self.ip(f"neigh replace {other.address} lladdr 02:00:00:00:00:01 dev eth0 nud permanent")

    def kill_all(self):
        """Sends SIGKILL to every process; the kernel survives and closes their connections with FIN or RST."""
        while pids := self.pids():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def lose(self):
        """Power cut: all processes are gone, and no FIN or RST is sent."""
        self.cut()
        self.down = True
        self.close()


class Hosts:
    """The hosts of one test, `net["node1"]` or `net[0]`."""

    def __init__(self, names, folder, binary, start, own_name_is_loopback=False):
        self.folder, self.binary, self.start, self.all = folder, binary, start, []
        self.switch = Space("switch")
        try:
            self.switch.ip("link add switch type bridge", "link set switch up")
            addresses = {name: f"10.86.0.{number}" for number, name in enumerate(names, 1)}
            for name, address in addresses.items():
                own = {name: "127.0.1.1"} if own_name_is_loopback else {}  # as Debian's installer configures it
                table = Path(folder, f"etc-hosts.{name}" if own else "etc-hosts")
                lines = ["127.0.0.1 localhost\n"]
                lines += [f"{at} {each}.example.com {each}\n" for each, at in {**addresses, **own}.items()]
                table.write_text("".join(lines))
                self.all.append(Host(self, name, address, table))
        except BaseException:
            self.close()
            raise

    def __getitem__(self, which):
        return self.all[which] if isinstance(which, int) else next(host for host in self.all if host.name == which)

    def __iter__(self):
        return iter(self.all)

    def close(self):
        for host in self.all:
            host.close()
        self.switch.close()
        remove_dead_cgroups()


def remove_dead_cgroups():
    """Removes cgroups of jobs on lost hosts: their pids were of other namespaces, so no later run can recognize them."""
    path = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "")
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if not Path(root, "cgroup.controllers").exists():
            continue
        for folder in Path(root + path).glob("dlaunch-*-*"):
            with contextlib.suppress(OSError):  # still in use, or removed already
                remove_unheld(folder)


def remove_unheld(folder):
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a running job holds the lock
        below = [each for each in folder.rglob("*") if each.is_dir()]
        for each in [*sorted(below, reverse=True), folder]:
            each.rmdir()
    finally:
        os.close(held)


@contextlib.contextmanager
def inside(space):
    """Moves this thread into the network namespace of the space; sockets remain in the namespace of their creation."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as home, open(f"/proc/{space.init}/ns/net") as there:
        assert libc.setns(there.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(home.fileno(), 0x40000000) == 0, os.strerror(ctypes.get_errno())


def variable(pid, name):
    """One environment variable that a process was started with, or None."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    found = re.search(rb"(?:^|\0)" + name.encode() + rb"=([^\0]*)", text)
    return found[1].decode() if found else None
