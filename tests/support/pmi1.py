"""Workers that speak PMI-1 themselves: `pmi1_worker(text)` is a program in which `pmi` is the connection."""

from workers import python_text

CLIENT = r"""
import socket
class Pmi:
    def __init__(self):
        self.socket = socket.socket(fileno=int(os.environ["PMI_FD"]))
        self.size, self.bytes = int(os.environ["PMI_SIZE"]), b""
    def send(self, line):
        self.socket.sendall(line.encode() + b"\n")
    def line(self):
        while b"\n" not in self.bytes:
            more = self.socket.recv(65536)
            if not more:
                return ""
            self.bytes += more
        line, self.bytes = self.bytes.split(b"\n", 1)
        return line.decode()
    def ask(self, line):
        self.send(line)
        return self.line()
    def init(self):
        assert self.ask("cmd=init pmi_version=1 pmi_subversion=1").endswith("rc=0")
        self.space = self.ask("cmd=get_my_kvsname").partition("kvsname=")[2]
    def put(self, key, value):
        assert " rc=0 " in self.ask(f"cmd=put kvsname={self.space} key={key} value={value}")
    def get(self, key):
        found, _, value = self.ask(f"cmd=get kvsname={self.space} key={key}").partition(" value=")
        return value if " rc=0 " in found else None
    def barrier(self):
        assert self.ask("cmd=barrier_in") == "cmd=barrier_out"
    def finalize(self):
        assert self.ask("cmd=finalize") == "cmd=finalize_ack"
def wait_for_the_end():
    while True:
        time.sleep(600)
assert int(os.environ["PMI_RANK"]) == rank
pmi = Pmi()
"""


def pmi1_text(text):
    return python_text(CLIENT + text)
