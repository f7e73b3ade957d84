"""A host that cannot be started is named; spares and elastic jobs go on without it."""

import os
import signal
import time

import pytest

from processes import children, until

END = ["--no-python", "true"]


def count_events(folder, name):
    events = folder / "events"
    return events.read_text().count(f'"{name}"') if events.exists() else 0


@pytest.fixture
def over(start, fake_ssh):
    return lambda hosts, *words: start(f"--hosts={hosts}", *words, env=fake_ssh.env)


def test_a_refused_login_ends_a_fixed_job_at_once(over, fake_ssh):
    fake_ssh.behave("nb", "refuse")
    result = over("na,nb", *END).wait(15)
    assert result.rc == 80 and "host nb: ssh exited with 1 before an agent came: ssh: connect to host nb port 22: Connection refused" in result.err


def test_all_that_are_refused_together_are_named(over, fake_ssh):
    for host in ("nb", "nd"):
        fake_ssh.behave(host, "refuse")
    fake_ssh.behave("nc", "hang")
    result = over("na,nb,nc,nd", *END).wait(15)
    assert result.rc == 80 and all(f"host {host}: ssh exited with 1" in result.err for host in ("nb", "nd")), result.err
    assert "2 of 4 hosts cannot be started, the job needs 4" in result.err and "host nc" not in result.err


def test_a_login_that_hangs_ends_it_at_the_time_out(over, fake_ssh):
    fake_ssh.behave("nb", "hang")
    result = over("na,nb", "--launch-timeout=1", *END).wait(15)
    assert result.rc == 80 and "host nb: no agent within 1 s (--launch-timeout)" in result.err


def test_a_login_that_hangs_is_named_with_its_last_lines(over, fake_ssh):
    fake_ssh.behave("nb", "noise hang")
    result = over("na,nb", "--launch-timeout=1", *END).wait(15)
    assert result.rc == 80 and "host nb: no agent within 1 s (--launch-timeout): Welcome" in result.err, result.err


def test_a_launcher_that_ends_after_its_agent_came_and_before_the_job_begins(over, fake_ssh, tmp_path):
    fake_ssh.behave("nb", "wait")
    run = over("na,nb", f"--event-log={tmp_path}/events", *END)
    until(lambda: count_events(tmp_path, "host_connected") == 1, 10, "the agent")
    os.kill(fake_ssh.calls("na")[0]["pid"], signal.SIGKILL)
    (fake_ssh.folder / "nb.go").touch()
    result = run.wait(15)
    assert result.rc == 80 and "host na: ssh was killed by SIGKILL\n" in result.err, result.err
    run.nothing_left(2)


def test_an_agent_that_comes_after_the_end_of_its_launcher_is_sent_away(over, fake_ssh):
    """An ssh that is killed leaves the command to itself, and the host counts as failed."""
    fake_ssh.behave("na", "wait")
    fake_ssh.behave("nb", "leave")
    run = over("na,nb", "--nnodes=1:2", "--no-python", "sh", "-c", "echo $GROUP_RANK of $GROUP_WORLD_SIZE")
    until(lambda: "host nb: ssh exited with 0 before an agent came" in run.err(), 10, "the end of the ssh")
    (fake_ssh.folder / "nb.go").touch()
    until((fake_ssh.folder / "nb.done").exists, 10, "the end of the agent")
    (fake_ssh.folder / "na.go").touch()
    result = run.wait(15)
    assert (result.rc, result.out) == (0, "0 of 1\n"), result.err


def test_a_front_end_that_was_frozen_takes_the_agents_that_wait(over, fake_ssh):
    fake_ssh.behave("nb", "wait")
    run = over("na,nb", "--launch-timeout=2", *END)
    until(lambda: fake_ssh.calls("nb"), 10, "the login")
    processes = [run.pid, run.agent()]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    (fake_ssh.folder / "nb.go").touch()
    thawed_at = time.monotonic() + 4  # later than the time-out
    until(lambda: time.monotonic() > thawed_at, 10, "the end of the freeze")
    for pid in processes:
        os.kill(pid, signal.SIGCONT)
    assert run.wait(20).rc == 0, run.err()


def test_the_time_limit_of_the_job_includes_its_start(over, fake_ssh):
    fake_ssh.behave("nb", "hang")
    result = over("na,nb", "--timeout=1", *END).wait(15)
    assert result.rc == 84 and "the start outlived --timeout=1: 1 of 2 hosts have an agent" in result.err


def test_a_missing_dlaunch_is_named(over):
    result = over("na", "--remote-dlaunch=/nowhere/dlaunch", *END).wait(15)
    assert result.rc == 80 and "host na: ssh exited with 127" in result.err and "/nowhere/dlaunch: not found" in result.err


@pytest.mark.parametrize("refused, nodes", [("na", "2"), ("nb", "2:3")])
def test_a_spare_or_an_elastic_job_does_without_it(over, fake_ssh, tmp_path, refused, nodes):
    fake_ssh.behave(refused, "refuse")
    run = over("na,nb,nc", f"--nnodes={nodes}", "sh", "-c", f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    until(lambda: f"host {refused}: " in run.err(), 10, "the line about the host")
    (tmp_path / "go").touch()
    assert run.wait(15).rc == 0


def test_the_output_of_a_login_is_not_the_jobs(over, fake_ssh):
    fake_ssh.behave("na", "noise")
    result = over("na", "echo", "fine").wait(15)
    assert (result.rc, result.out, result.err) == (0, "fine\n", "")


def test_a_missing_folder_is_126_with_the_host(over, tmp_path):
    result = over("na,nb", f"--chdir={tmp_path}/gone", *END).wait(15)
    assert result.rc == 126 and f"{tmp_path}/gone" in result.err and "(n" in result.err


FEW = "too few open files, expected a limit of 64 at least (it is {}; raise it with ulimit -n)"


@pytest.mark.parametrize("limit", [12, 16])
def test_a_host_that_cannot_take_part_ends_a_fixed_job(over, fake_ssh, limit):
    fake_ssh.behave("nb", f"{limit} files")
    result = over("na,nb,nc", *END).wait(15)
    lines = result.err.splitlines()
    assert result.rc == 126 and lines.count(f"dlaunch: host nb: {FEW.format(limit)}") == 1, result.err
    assert lines[-1] == "dlaunch: 2 of 3 hosts can take part, expected 3 at least"


def test_a_spare_replaces_a_host_that_cannot_take_part(over, fake_ssh, tmp_path):
    fake_ssh.behave("nb", "16 files")
    run = over("na,nb,nc", "--nnodes=2", "sh", "-c", f"echo fine; until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    until(lambda: f"dlaunch: host nb: {FEW.format(16)}" in run.err(), 10, "the line about the host")
    (tmp_path / "go").touch()
    result = run.wait(15)
    assert result.rc == 0 and result.out == "fine\nfine\n"


def test_a_spare_that_could_join_only_after_the_end_is_not_waited_for(over, fake_ssh, tmp_path):
    """Its dlaunch is frozen from before the job begins until both other hosts have ended."""
    for host in ("na", "nb"):
        fake_ssh.behave(host, "wait")
    run = over("na,nb,nc", "--nnodes=2", f"--event-log={tmp_path}/events", *END)
    until(lambda: count_events(tmp_path, "host_connected") == 1, 10, "the agent of nc")
    [relay] = children(fake_ssh.calls("nc")[0]["pid"])  # the shell has executed it
    os.kill(relay, signal.SIGSTOP)
    for host in ("na", "nb"):
        (fake_ssh.folder / f"{host}.go").touch()
    until(lambda: count_events(tmp_path, "host_ended") == 2, 10, "the end of the job")
    os.kill(relay, signal.SIGCONT)
    result = run.wait(5)
    assert (result.rc, result.err) == (0, ""), result.err
    run.nothing_left(2)


@pytest.mark.parametrize("way, status, text", [
    ("stop the agent", 80, "its agent has not joined the job within 1 s (--launch-timeout)"),
    ("kill the agent", 137, "its dlaunch was killed by SIGKILL before it joined the job"),
    ("kill the guard", 137, "its dlaunch was killed by SIGKILL before it joined the job"),
])
def test_a_host_is_named_whose_agent_is_lost_before_it_joins(over, fake_ssh, way, status, text):
    fake_ssh.behave("nb", f"{way} before it joins")
    for _ in range(10):  # a signal that came too late lost a member, or nothing
        result = over("na,nb,nc", "--launch-timeout=1", "--node-timeout=2", *END).wait(20)
        if "3 hosts can take part" in result.err:
            break
    assert result.rc == status and f"dlaunch: host nb: {text}" in result.err.splitlines(), result.err
    assert result.err.splitlines()[-1] == "dlaunch: 2 of 3 hosts can take part, expected 3 at least"


@pytest.mark.parametrize("options, rc, text", [
    (["--nproc-per-node=npu"], 2, "--nproc-per-node=npu: expected an Ascend processor, none is visible"),
    (["--log-dir=/proc/none"], 2, "log directory /proc/none: No such file or directory"),
])
def test_each_host_that_cannot_take_part_is_named_once(start, options, rc, text):
    result = start("--launcher=fork", "--hosts=a,b,c", *options, *END).wait(15)
    named = [line[: len(f"dlaunch: host a: {text}")] for line in sorted(result.err.splitlines()) if text in line]
    assert named == [f"dlaunch: host {host}: {text}" for host in "abc"], result.err
    assert result.rc == rc


def test_warnings_of_a_host_name_it(start, tmp_path):
    result = start("--launcher=fork", "--hosts=a,b", *END, env={"TMPDIR": f"{tmp_path}/none"}).wait(15)
    assert result.rc == 0 and all(f"dlaunch: host {host}: log directory " in result.err for host in "ab"), result.err


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core")
def test_workers_that_a_host_counts_may_not_exceed_its_slots(start):
    cores = len(os.sched_getaffinity(0))
    result = start("--launcher=fork", f"--hosts=a:1,b:{cores}", "--nproc-per-node=cpu", "--no-python", "echo", "up").wait(15)
    assert result.rc == 2 and result.out == ""
    text = f"{cores} workers for 1 slot, expected no more workers than slots"
    assert result.err.splitlines()[0] == f"dlaunch: host a: --nproc-per-node=cpu: {text}"
    enough = start("--launcher=fork", f"--hosts=a:{cores}", "--nproc-per-node=cpu", "--no-python", "echo", "up").wait(15)
    assert enough.rc == 0 and enough.out == "up\n" * cores


def test_a_removed_current_folder(start, fake_ssh, tmp_path):
    gone = tmp_path / "gone"
    here = f"mkdir {gone} && cd {gone} && rmdir {gone} && exec \"$0\" \"$@\""
    for folder, rc, word in (("/", 0, ""), ("below", 126, "the current directory was removed")):
        words = ["--hosts=na", f"--chdir={folder}", *END]
        result = start(*words, prefix=["sh", "-c", here], env=fake_ssh.env).wait(15)
        assert result.rc == rc and word in result.err, result.err


@pytest.mark.parametrize("launcher", ["pdsh", "manual", "srun"])
def test_a_launcher_that_cannot_copy_is_refused(start, launcher):
    result = start("--hosts=na", f"--launcher={launcher}", "--copy", *END).wait(15)
    assert result.rc == 2 and "--copy: expected ssh as --launcher" in result.err


def test_no_more_than_128_logins_are_open(over, fake_ssh):
    for number in range(131):
        fake_ssh.behave(f"n{number}", "hang")
    run = over("n[0-130]", "--launch-timeout=300", *END)
    until(lambda: len(fake_ssh.calls()) == 128, 120, "128 logins")
    run.signal(signal.SIGINT)
    assert run.wait(30).rc == 130 and len(fake_ssh.calls()) == 128
