"""/proc is missing, or another pid namespace's: its numbers are not believed, and workers' groups are still ended."""

import os

import pytest

pytestmark = [pytest.mark.root, pytest.mark.needs("unshare")]
OF_OTHERS = ("unshare", "-pf")
MISSING = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh")
SAID = "/proc does not show this process"
NO_CGROUP = {"DLAUNCH_NO_CGROUP": "1"}
# The address sanitizer itself reads /proc, its own options among it.
PREFIXES = {"others": OF_OTHERS} | ({} if "DLAUNCH_SANITIZE" in os.environ else {"missing": MISSING})
BOTH = pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)


@BOTH
def test_nobody_else_is_ended(job, prefix):
    text = '[ $RANK = 0 ] && exit 3\nexec sleep "$TEST_RUN_MARK"\n'
    result = job(text, prefix=prefix, env=NO_CGROUP).wait(10)
    assert result.rc == 3 and "left behind" not in result.err and result.err.count(SAID) == 1


@BOTH
def test_what_a_worker_leaves_in_its_group_is_ended(job, prefix):
    run = job('sleep "$TEST_RUN_MARK" &\n', prefix=prefix, env=NO_CGROUP)
    assert run.wait(10).rc == 0
    run.nothing_left(1)


@BOTH
def test_its_children_have_the_grace_too(job, prefix, seen):
    child = "(trap 'sleep 0.3; note saved; exit 0' TERM; note waits; while :; do sleep 0.05; done) &\n"
    result = job(f"{child}await waits\nexit 7\n", "--grace=20", prefix=prefix, workers=1, env=NO_CGROUP).wait(10)
    assert result.rc == 7 and (seen / "saved").exists()


def test_quiet_is_quiet(job):
    assert job("exit 0\n", "--quiet", prefix=OF_OTHERS, env=NO_CGROUP).wait(10).err == ""


def test_a_proc_of_its_own_is_enough(job):
    assert SAID not in job("exit 0\n", env=NO_CGROUP).wait(10).err
