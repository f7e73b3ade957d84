"""System calls that a container's seccomp filter refuses: workers start all the same, and inherit nothing."""

import errno

import pytest

from seccomp import CLONE3, CLOSE_RANGE, refusing


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_without_clone3(dlaunch, error):
    result = dlaunch("--nproc-per-node=2", "--no-python", "sh", "-c", "echo rank $RANK", prefix=refusing(CLONE3, error))
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["rank 0", "rank 1"], result.err


def test_a_missing_program_without_clone3(dlaunch):
    result = dlaunch("--nproc-per-node=2", "--no-python", "/nowhere/at/all", prefix=refusing(CLONE3, errno.EPERM))
    assert result.rc == 127 and "/nowhere/at/all" in result.err


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_workers_inherit_no_descriptor_without_close_range(dlaunch, error):
    caller = ("sh", "-c", 'exec 7</dev/null; exec "$@"', "-")
    worker = "ls /proc/$$/fd | tr '\\n' ' '; echo"
    result = dlaunch("--no-python", "sh", "-c", worker, prefix=(*caller, *refusing(CLOSE_RANGE, error)))
    assert result.rc == 0 and "2" in result.out.split() and "7" not in result.out.split(), result.out
