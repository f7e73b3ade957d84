"""A program `ssh` that comes first in PATH: it runs the command on this machine with the environment of a login, or
behaves as the test specifies for its host. Each call leaves its arguments."""

import json
import os
import sys
from pathlib import Path

PROGRAM = f"#!{sys.executable} -SE\n" + r'''
import json, os, shlex, signal, subprocess, sys, time
folder, words = "FOLDER", sys.argv[1:]
place, command = words[words.index("--") + 1:]
host = place.rpartition("@")[2]
with open(f"{folder}/{host}.{os.getpid()}.part", "w") as file:
    json.dump({"words": words, "command": command, "pid": os.getpid(), "time": time.monotonic()}, file)
os.rename(f"{folder}/{host}.{os.getpid()}.part", f"{folder}/{host}.{os.getpid()}.json")
try:
    way = open(f"{folder}/{host}.way").read()
except FileNotFoundError:
    way = ""
if way == "refuse":
    sys.exit(f"ssh: connect to host {host} port 22: Connection refused")
if way == "noise hang":
    print("Welcome", flush=True)
if way.endswith("hang"):
    time.sleep(600)
while way == "wait" and not os.path.exists(f"{folder}/{host}.go"):
    time.sleep(0.01)
if way == "noise":
    command = "echo Welcome; echo quota >&2; printf unfinished; " + command
if way == "leave":  # the command to itself
    go, done = f"{folder}/{host}.go", f"{folder}/{host}.done"
    command = f"(until [ -e {go} ]; do sleep 0.01; done; {command}); touch {done}"
if way.startswith("under "):
    command = f"{way[6:]} /bin/sh -c {shlex.quote(command)}"
if way.endswith(" files"):
    command = f"ulimit -n {way.split()[0]}; " + command
login = {"PATH": "/usr/bin:/bin", "HOME": folder, "OF_THE_NODE": host, "SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 22",
         "TMPDIR": folder, "TEST_RUN_MARK": os.environ["TEST_RUN_MARK"]}
login_shell = subprocess.Popen(["/bin/sh", "-c", command], env=login, cwd=folder)

if way == "leave":
    sys.exit(0)

def child_of(pid):
    try:
        while not (children := open(f"/proc/{pid}/task/{pid}/children").read().split()):
            pass
        return int(children[0])
    except OSError:
        sys.exit(login_shell.wait())

if " before it joins" in way:  # most often: the job may be faster
    agent = child_of(guard := child_of(login_shell.pid))
    os.kill(guard if "guard" in way else agent, signal.SIGSTOP if "stop" in way else signal.SIGKILL)
sys.exit(login_shell.wait())
'''


class FakeSsh:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()
        program = self.folder / "ssh"
        program.write_text(PROGRAM.replace("FOLDER", str(self.folder)))
        program.chmod(0o755)

    @property
    def env(self):
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def behave(self, host, way):
        (self.folder / f"{host}.way").write_text(way)

    def calls(self, host="*"):
        return [json.loads(path.read_text()) for path in self.folder.glob(f"{host}.*.json")]
