"""An sshd of this test alone: on loopback addresses, with keys of its own, and aliases near1, near2 for them."""

import shutil
import socket
import subprocess

from processes import until

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
SERVER = """
HostKey {folder}/host
PidFile {folder}/pid
AuthorizedKeysFile {folder}/user.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
UseDNS no
MaxStartups 100
"""
CLIENT = """
Host near{number}
  HostName 127.0.0.{number}
  Port {port}
  User root
  IdentityFile {folder}/user
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking accept-new
  LogLevel ERROR
"""


def missing():
    lacking = [name for name in ("sshd", "ssh", "ssh-keygen") if not shutil.which(name, path=SYSTEM_PATH)]
    return f"not installed: {', '.join(lacking)}" if lacking else ""


class RealSshd:
    """`options` are those of an ssh that reaches the aliases."""

    def __init__(self, folder, hosts):
        folder.mkdir()
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        addresses = "".join(f"ListenAddress 127.0.0.{number}\n" for number in range(1, hosts + 1))
        (folder / "sshd_config").write_text(f"Port {port}\n{addresses}" + SERVER.format(folder=folder))
        client = "".join(CLIENT.format(number=number, port=port, folder=folder) for number in range(1, hosts + 1))
        (folder / "ssh_config").write_text(client)
        self.options = f"-F {folder}/ssh_config"
        subprocess.run(["mkdir", "-p", "/run/sshd"], check=True)
        sshd = shutil.which("sshd", path=SYSTEM_PATH)
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "sshd_config"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(lambda: b"listening" in (folder / "log").read_bytes(), 10, "the start of sshd")

    def close(self):
        self.process.terminate()
        self.process.wait(10)
