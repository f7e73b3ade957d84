"""A `dlaunch store` of a test's own, and scripts that are its clients."""

import contextlib
import json
import re
import subprocess
import sys


class StoreServer:
    """A started server: `port` is where it listens, `line` what it printed."""

    def __init__(self, binary, bind="127.0.0.1:0"):
        self.process = subprocess.Popen([binary, "store", "--bind", bind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)$", self.line)[1]) if self.line else None

    def end(self):
        """Whatever it is doing; its standard error."""
        self.process.kill()
        return self.process.communicate()[1]


@contextlib.contextmanager
def serving(binary):
    server = StoreServer(binary)
    try:
        yield server
        assert server.process.poll() is None, f"the server died: {server.process.stderr.read()}"
    finally:
        server.end()


def answers(script, server, python=sys.executable, timeout=120):
    """Runs a Python script with the port as its argument; returns what it printed last, from JSON."""
    done = subprocess.run([python, "-c", script, str(server.port)], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
