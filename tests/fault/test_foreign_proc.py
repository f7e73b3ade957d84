"""/proc is missing or belongs to another pid namespace: dlaunch does not trust its pids, and no process remains."""

import os
import signal

import pytest

pytestmark = [pytest.mark.root, pytest.mark.needs("unshare")]
OF_OTHERS = ("unshare", "-pf")
MISSING = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh")
DETACH = '(setsid sleep "$TEST_RUN_MARK" &)\n'
NO_CGROUP = {"DLAUNCH_NO_CGROUP": "1"}
# The address sanitizer itself reads /proc, its own options among it.
PREFIXES = {"others": OF_OTHERS} | ({} if "DLAUNCH_SANITIZE" in os.environ else {"missing": MISSING})
BOTH = pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)


@BOTH
def test_no_other_process_is_killed(job, prefix):
    text = '[ $RANK = 0 ] && exit 3\nexec sleep "$TEST_RUN_MARK"\n'
    result = job(text, prefix=prefix, env=NO_CGROUP).wait(10)
    assert result.rc == 3 and "left behind" not in result.err and "/proc" not in result.err


@BOTH
def test_processes_left_in_a_workers_group_are_ended(job, prefix):
    run = job('sleep "$TEST_RUN_MARK" &\n', prefix=prefix, env=NO_CGROUP)
    assert run.wait(60).rc == 0
    run.nothing_left(1)


@BOTH
def test_children_of_a_worker_have_the_grace_too(job, prefix, seen):
    child = "(trap 'sleep 0.3; note saved; exit 0' TERM; note waits; while :; do sleep 0.05; done) &\n"
    result = job(f"{child}await waits\nexit 7\n", "--grace=20", prefix=prefix, workers=1, env=NO_CGROUP).wait(10)
    assert result.rc == 7 and (seen / "saved").exists()


@BOTH
def test_detached_processes_are_ended(job, prefix):
    run = job(DETACH, prefix=prefix, env=NO_CGROUP)
    result = run.wait(60)
    assert result.rc == 0 and "dlaunch: ended 2 processes that workers had left behind: ? (pid " in result.err
    run.nothing_left(1)


@pytest.mark.skipif("missing" not in PREFIXES, reason="the address sanitizer needs /proc")
def test_nothing_outlives_a_killed_agent(job):
    run = job(f'{DETACH}sleep "$TEST_RUN_MARK" &\nready\nwait\n', prefix=MISSING, env=NO_CGROUP)
    run.ready(2)
    os.kill(run.agent(), signal.SIGKILL)
    assert run.wait(60).rc == 128 + signal.SIGKILL
    run.nothing_left()


@pytest.mark.skipif("missing" not in PREFIXES, reason="the address sanitizer needs /proc")
def test_children_from_before_exec_are_spared(start, shell_worker):
    worker = shell_worker(DETACH)
    shell = (*MISSING, "bash", "-c", 'setsid sleep "$TEST_RUN_MARK" & exec "$@"', "bash")
    run = start("--no-python", worker, prefix=shell, env=NO_CGROUP)
    assert run.wait(60).rc == 0
    (spared,) = run.living()
    os.kill(spared, signal.SIGKILL)
    run.nothing_left(1)
