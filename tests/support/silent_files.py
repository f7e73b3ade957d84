"""A folder on a file system that never answers: a FUSE mount without a server."""

import ctypes
import os
from contextlib import contextmanager

import pytest

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2


@contextmanager
def silent_folder(path):
    """Yields `path`, mounted. A process that accesses it blocks until it is killed or the mount ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        connection = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"no FUSE: {error}")
    path.mkdir()
    options = f"fd={connection},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"silent", os.fsencode(path), b"fuse", MS_NOSUID | MS_NODEV, options) != 0:
        os.close(connection)
        pytest.skip(f"no FUSE mount: {os.strerror(ctypes.get_errno())}")
    try:
        yield path
    finally:
        os.close(connection)  # the kernel ends every wait
        libc.umount2(os.fsencode(path), MNT_DETACH)
