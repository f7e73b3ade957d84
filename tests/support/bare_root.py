"""A folder that holds as much of Debian as a package's Depends name, and nothing else."""

import os
import re
import shutil
import subprocess
from pathlib import Path

OF_EVERY_SYSTEM = ["dash", "libc-bin"]  # maintainer scripts run a shell and ldconfig
NOT_NEEDED = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/lib/x86_64-linux-gnu/gconv/")
DATABASE = Path("var/lib/dpkg")


def output(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=60).stdout


def closure(depends):
    """The installed packages that these names need, in all."""
    found, waiting = {}, list(depends)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        state, arch, fields = output("dpkg-query", "-W", "-f", "${db:Status-Status}\t${Architecture}\t${Pre-Depends}, ${Depends}", name).split("\t")
        assert state == "installed", f"{name} is {state}"
        found[name] = arch
        waiting += names_of(fields)
    return found


def names_of(depends):
    """The first alternative of each dependency."""
    return [match[0] for part in depends.split(",") if (match := re.search(r"[a-z0-9][a-z0-9.+-]+", part))]


def make_bare_root(root, depends):
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in ("proc", "dev", "etc", "tmp", "root", "opt", DATABASE / "info", DATABASE / "updates"):
        (root / name).mkdir(parents=True)
    status = []
    for name, arch in closure([*OF_EVERY_SYSTEM, *depends]).items():
        status.append(output("dpkg-query", "-s", f"{name}:{arch}" if arch != "all" else name))
        for path in output("dpkg-query", "-L", name).splitlines():
            if path.startswith("/") and not path.startswith(NOT_NEEDED):
                copy(Path(path), root / path[1:])
        for file in Path("/", DATABASE, "info").glob(f"{name}*.list"):
            if file.stem in (name, f"{name}:{arch}"):
                shutil.copy(file, root / DATABASE / "info")
    (root / DATABASE / "status").write_text("\n".join(status))
    shutil.copy(Path("/", DATABASE, "info/format"), root / DATABASE / "info")
    (root / DATABASE / "arch").write_text(output("dpkg", "--print-architecture"))
    if not os.path.lexists(root / "bin/sh"):
        (root / "bin/sh").symlink_to("dash")


def copy(source, target):
    if os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
    elif source.is_dir():
        target.mkdir()
    elif source.is_file():
        shutil.copy2(source, target)


def dpkg(root, *words):
    """dpkg with this root; its log does not go to the machine's."""
    done = subprocess.run(["dpkg", f"--root={root}", f"--log={root}/dpkg.log", *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(root):
    """All that is there, apart from what dpkg and ldconfig write."""
    ours = (str(root / DATABASE), str(root / "etc/ld.so.cache"), str(root / "var/cache/ldconfig"), str(root / "dpkg.log"))
    return {str(path) for path in root.rglob("*") if not str(path).startswith(ours)}


def enter(root):
    """The words of a command that runs what follows in the root, with /proc and /dev until it ends."""
    mount = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, str(root)]
