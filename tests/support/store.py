"""A `dlaunch store` for one test, and a Python interpreter that runs client scripts."""

import contextlib
import json
import re
import select
import subprocess


class StoreServer:
    """A started server: `port` is its port, `line` its first line of output."""

    def __init__(self, binary, bind="127.0.0.1:0"):
        self.process = subprocess.Popen([binary, "store", "--bind", bind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)$", self.line)[1]) if self.line else None

    def end(self):
        """Ends the server in any state; returns its standard error."""
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


class Interpreter:
    """A Python interpreter that runs one script after the other, so that imports are paid once."""

    LOOP = """
import gc, json, sys, traceback
for line in sys.stdin:
    script, port = json.loads(line)
    replies, error = [], None
    scope = {"port": port, "reply": replies.append}
    try:
        exec(script, scope)
    except BaseException:
        error = traceback.format_exc()
    scope.clear()  # closes the script's connections before its server ends
    gc.collect()
    print(json.dumps([replies, error], default=lambda b: b.decode("latin-1")), flush=True)
"""

    def __init__(self, python):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([python, "-c", self.LOOP], stdin=pipe, stdout=pipe, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def answer(self, script, server, seconds=120):
        """Runs a script with the server's `port` and returns the value that the script passes to reply()."""
        self.process.stdin.write(json.dumps([script, server.port]) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert ready, f"no answer within {seconds} s to:\n{script}"
        replies, error = json.loads(self.process.stdout.readline() or '[[], "the interpreter exited"]')
        assert error is None, error
        return replies[-1]
