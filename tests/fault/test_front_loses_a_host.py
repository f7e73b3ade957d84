"""A front end starts each host once: a lost host without a spare ends a job of fixed size, also with restarts left."""

import os
import signal

import pytest

from processes import children, until


def relays(run):
    """The agents of the nodes, in the order of their start."""
    return children(run.agent())


@pytest.mark.parametrize("restarts", [0, 2])
def test_a_lost_host_without_a_spare(start, restarts):
    run = start("--launcher=fork", "--hosts=a,b", f"--max-restarts={restarts}", "sh", "-c", "echo up; exec sleep 600")
    until(lambda: run.out().count("up") == 2, 15, "the workers")
    os.kill(relays(run)[1], signal.SIGKILL)
    result = run.wait(15)
    assert result.rc == 80 and "b was lost: 1 of 2 nodes, no spare" in result.err, result.err
    run.nothing_left()


def test_a_lost_host_with_a_spare(start, tmp_path):
    run = start("--launcher=fork", "--hosts=a,b,c", "--nnodes=2", "sh", "-c", f"echo up $PPID; until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    until(lambda: run.out().count("up") == 2, 15, "the workers")
    os.kill(int(run.out().split()[1]), signal.SIGKILL)  # the agent of a host that is no spare
    until(lambda: run.out().count("up") == 4, 15, "the next round")
    (tmp_path / "go").touch()
    assert run.wait(15).rc == 0


@pytest.mark.parametrize("hosts", ["a:2", "a:2,b:2", "a:1,b:1,c:1,d:1"])
def test_all_ranks_that_outlive_the_time_limit_are_named(start, hosts):
    result = start("--launcher=fork", f"--hosts={hosts}", "--timeout=1", "sleep", "600").wait(15)
    last = 1 if hosts == "a:2" else 3
    assert result.rc == 84 and f"the job outlived --timeout of 1 s; ranks 0-{last} were still running" in result.err, result.err


def test_the_report_names_the_stopped_ranks_of_all_hosts(start):
    result = start("--launcher=fork", "--hosts=a:2,b:2,c:2", "sh", "-c", "[ $RANK = 5 ] && exit; [ $RANK = 3 ] || exec sleep 600; sleep 0.5; exit 7").wait(15)
    assert result.rc == 7 and "stopped by us: ranks 0-2, 4\n" in result.err and "ended well:    rank 5\n" in result.err, result.err
