"""An unresponsive file system: an image on a loop device, frozen by fsfreeze(8). Writers block, and cannot be killed,
until it is thawed."""

import shutil
import subprocess
from contextlib import contextmanager

import pytest


class StillDisk:
    def __init__(self, path):
        self.path, self.is_frozen = path, False

    @contextmanager
    def frozen(self):
        subprocess.run(["fsfreeze", "-f", self.path], check=True)
        self.is_frozen = True
        try:
            yield
        finally:
            self.thaw()

    def thaw(self):
        if self.is_frozen:
            self.is_frozen = False
            subprocess.run(["fsfreeze", "-u", self.path], check=True)


@contextmanager
def still_disk(tmp_path):
    """Yields a StillDisk, mounted below `tmp_path`. Hosts see it when they are made inside."""
    missing = [name for name in ("fsfreeze", "mkfs.ext4", "mount") if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    image, path = tmp_path / "disk.img", tmp_path / "disk"
    path.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], check=True)
    done = subprocess.run(["mount", "-o", "loop", image, path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no loop device: {done.stderr.strip()}")
    disk = StillDisk(path)
    try:
        yield disk
    finally:
        disk.thaw()
        subprocess.run(["umount", "-l", path], check=True)
