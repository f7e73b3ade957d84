"""A host that cannot be started is named; spares and elastic jobs go on without it."""

import os
import signal

import pytest

from processes import until

END = ["--no-python", "true"]


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
    assert "2 of 4 hosts can be started, expected 4 at least" in result.err and "host nc" not in result.err


def test_a_login_that_hangs_ends_it_at_the_time_out(over, fake_ssh):
    fake_ssh.behave("nb", "hang")
    result = over("na,nb", "--launch-timeout=1", *END).wait(15)
    assert result.rc == 80 and "host nb: no agent within 1 s (--launch-timeout)" in result.err


def test_a_login_that_hangs_is_named_with_its_last_lines(over, fake_ssh):
    fake_ssh.behave("nb", "noise hang")
    result = over("na,nb", "--launch-timeout=1", *END).wait(15)
    assert result.rc == 80 and "host nb: no agent within 1 s (--launch-timeout): Welcome" in result.err, result.err


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


FEW = "too few open files, expected a limit of 64 at least (it is 16; raise it with ulimit -n)"


def test_a_host_that_cannot_take_part_ends_a_fixed_job(over, fake_ssh):
    fake_ssh.behave("nb", "few files")
    result = over("na,nb,nc", *END).wait(15)
    lines = result.err.splitlines()
    assert result.rc == 126 and lines.count(f"dlaunch: host nb: {FEW}") == 1, result.err
    assert lines[-1] == "dlaunch: 2 of 3 hosts can take part, expected 3 at least"


def test_a_spare_replaces_a_host_that_cannot_take_part(over, fake_ssh):
    fake_ssh.behave("nb", "few files")
    result = over("na,nb,nc", "--nnodes=2", "sh", "-c", "echo fine").wait(15)
    assert result.rc == 0 and result.out == "fine\nfine\n" and f"dlaunch: host nb: {FEW}" in result.err


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
    text = f"{cores} workers for 1 slot, expected at most one worker per slot"
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
