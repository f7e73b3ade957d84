"""A front end starts each host once: a lost host without a spare ends a job of fixed size, also with restarts left."""

import os
import signal

import pytest

from processes import alive, children, comm, parent, until


def relays(run):
    """The agents of the nodes, in the order of their start."""
    return children(run.agent())


def agents_of(guard):
    return [pid for pid in children(guard) if comm(pid) == "dlaunch-agent"]


@pytest.mark.parametrize("restarts", [0, 2])
def test_a_lost_host_without_a_spare(start, restarts):
    run = start("--launcher=fork", "--hosts=a,b", f"--max-restarts={restarts}", "sh", "-c", "echo up; exec sleep 600")
    until(lambda: run.out().count("up") == 2, 15, "the workers")
    os.kill(relays(run)[1], signal.SIGKILL)
    result = run.wait(15)
    assert result.rc == 80 and "b was lost: 1 of 2 nodes, no spare" in result.err, result.err
    run.nothing_left()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_lost_host_with_a_spare(start, tmp_path, rank):
    """One node prints the lines about the job, also when the one that has done so is lost."""
    worker = f"echo up $RANK $PPID; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    run = start("--launcher=fork", "--hosts=a,b,c", "--nnodes=2", "sh", "-c", worker)
    until(lambda: run.out().count("up") == 2, 15, "the workers")
    agents = dict(line.split()[1:] for line in run.out().splitlines())
    os.kill(int(agents[str(rank)]), signal.SIGKILL)
    until(lambda: run.out().count("up") == 4, 15, "the next round")
    (tmp_path / "go").touch()
    result = run.wait(15)
    assert result.rc == 0
    assert result.err.count("was lost\n") == 1 and result.err.count("going on with 2 nodes") == 1, result.err


def test_a_host_that_is_lost_while_a_failure_stops_the_others(start, tmp_path):
    """The first host prints the lines about the job; another one prints that of the failure."""
    worker = (f"echo up $RANK $PPID $$; trap 'sleep 1; exit 1' TERM; "
              f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    run = start("--launcher=fork", "--hosts=a,b,c", "--nnodes=1:3", "--max-restarts=3", "sh", "-c", worker)
    until(lambda: run.out().count("up") == 3, 15, "the workers")
    pids = {line.split()[1]: line.split()[2:] for line in run.out().splitlines()}
    os.kill(int(pids["1"][1]), signal.SIGKILL)
    until(lambda: not alive(int(pids["1"][1])), 5, "the failure")
    os.kill(int(pids["0"][0]), signal.SIGKILL)
    until(lambda: run.out().count("up") == 5, 15, "the next round")
    (tmp_path / "go").touch()
    result = run.wait(15)
    assert result.rc == 0
    assert result.err.count("going on with 2 nodes, without a") == 1, result.err
    assert result.err.count("was killed by SIGKILL after") == 1, result.err


def test_the_failure_of_rank_0_is_printed_once(start, tmp_path):
    """Another host, which takes long to stop, does not take the host of rank 0 for lost."""
    worker = (f"echo up $RANK $$; trap 'sleep 1; exit 1' TERM; "
              f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    run = start("--launcher=fork", "--hosts=a,b", "--max-restarts=1", "sh", "-c", worker)
    until(lambda: run.out().count("up") == 2, 15, "the workers")
    pids = dict(line.split()[1:] for line in run.out().splitlines())
    os.kill(int(pids["0"]), signal.SIGKILL)
    until(lambda: run.out().count("up") == 4, 15, "the next round")
    (tmp_path / "go").touch()
    result = run.wait(15)
    assert result.rc == 0
    assert result.err.count("was killed by SIGKILL after") == 1, result.err


@pytest.fixture
def lost_before_the_spare_joins(start, fake_ssh, shell_worker):
    """A job on na and nb has lost nb, and its other workers are stopped, while the login on nc lasts."""
    fake_ssh.behave("nc", "wait")
    run = start("--hosts=na,nb,nc", "--nnodes=2", "--no-python", shell_worker("ready\nawait go\n"), env=fake_ssh.env)
    workers = run.ready(2)
    os.kill(parent(workers[1]), signal.SIGKILL)
    until(lambda: not any(map(alive, workers)), 15, "the end of the round")
    return run, workers


def test_a_spare_that_joins_after_the_loss(lost_before_the_spare_joins, fake_ssh):
    run, workers = lost_before_the_spare_joins
    (fake_ssh.folder / "nc.go").touch()
    until(lambda: not {*workers} & {*run.ready(2)}, 15, "the next round")
    run.go()
    assert run.wait(15).rc == 0, run.err()


def test_a_spare_whose_login_ends_after_the_loss(lost_before_the_spare_joins, fake_ssh):
    run, _ = lost_before_the_spare_joins
    os.kill(fake_ssh.calls("nc")[0]["pid"], signal.SIGKILL)
    result = run.wait(15)
    assert result.rc == 80 and "nb was lost: 1 of 2 nodes, no spare and no restart left" in result.err, result.err
    assert "host nc: ssh was killed by SIGKILL before an agent came" in result.err
    run.nothing_left()


LINES = {
    "relay": "dlaunch: host {host}: its agent has ended",
    "guard": "dlaunch: host {host}: its dlaunch was killed by SIGKILL",
    "agent": "dlaunch: host {host}: the agent (pid {pid}) was killed by signal 9 (Killed); every worker was killed",
}


@pytest.mark.parametrize("which", LINES)
@pytest.mark.parametrize("role", ["spare", "finished"])
def test_a_host_is_named_that_is_killed_while_the_job_needs_it_not(start, tmp_path, role, which):
    options = ["--nnodes=2"] if role == "spare" else []
    script = f"echo up $PPID; [ $RANK = {'x' if role == 'spare' else 1} ] || until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    run = start("--launcher=fork", "--hosts=a,b,c", *options, "sh", "-c", script)
    until(lambda: run.out().count("up") == (2 if role == "spare" else 3), 15, "the workers")
    guards = [children(relay)[0] for relay in relays(run)]
    until(lambda: all(agents_of(guard) for guard in guards), 15, "the agents")
    agents = [agents_of(guard)[0] for guard in guards]
    used = [int(pid) for pid in run.out().split() if pid.isdigit()]
    if role == "spare":
        number = next(at for at, pid in enumerate(agents) if pid not in used)
    else:
        until(lambda: [pid for pid in agents if not children(pid)], 15, "the end of a worker")
        number = next(at for at, pid in enumerate(agents) if not children(pid))
    os.kill({"relay": relays(run), "guard": guards, "agent": agents}[which][number], signal.SIGKILL)
    line = LINES[which].format(host="abc"[number], pid=agents[number])
    until(lambda: line in run.err().splitlines(), 15, "the line")
    (tmp_path / "go").touch()
    assert run.wait(15).rc == 0


@pytest.mark.parametrize("which", LINES)
@pytest.mark.parametrize("options", [["--hosts=a,b,c", "--nnodes=2"], ["--hosts=a,b", "--nnodes=1:2"]], ids=["spare", "member"])
def test_a_host_is_named_that_a_signal_makes_leave(start, tmp_path, which, options):
    run = start("--launcher=fork", *options, "sh", "-c", f"echo up $PPID; until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    until(lambda: run.out().count("up") == 2, 15, "the workers")
    guards = [children(relay)[0] for relay in relays(run)]
    until(lambda: all(agents_of(guard) for guard in guards), 15, "the agents")
    agents = [agents_of(guard)[0] for guard in guards]
    used = [int(pid) for pid in run.out().split() if pid.isdigit()]
    number = next((at for at, pid in enumerate(agents) if pid not in used), 1)
    os.kill({"relay": relays(run), "guard": guards, "agent": agents}[which][number], signal.SIGTERM)
    line = f"dlaunch: host {'abc'[number]}: SIGTERM received, it has left the job"
    until(lambda: line in run.err().splitlines(), 15, "the line")
    (tmp_path / "go").touch()
    assert run.wait(15).rc == 0, run.err()


@pytest.mark.parametrize("hosts", ["a:2", "a:2,b:2", "a:1,b:1,c:1,d:1"])
def test_all_ranks_that_outlive_the_time_limit_are_named(start, hosts):
    result = start("--launcher=fork", f"--hosts={hosts}", "--timeout=1", "sleep", "600").wait(15)
    last = 1 if hosts == "a:2" else 3
    assert result.rc == 84 and f"the job outlived --timeout of 1 s; ranks 0-{last} were still running" in result.err, result.err


def test_the_report_names_the_stopped_ranks_of_all_hosts(start):
    result = start("--launcher=fork", "--hosts=a:2,b:2,c:2", "sh", "-c", "[ $RANK = 5 ] && exit; [ $RANK = 3 ] || exec sleep 600; sleep 0.5; exit 7").wait(15)
    assert result.rc == 7 and "stopped by us: ranks 0-2, 4\n" in result.err and "ended well:    rank 5\n" in result.err, result.err
