"""--host-discovery-script: hosts come and go while the job runs."""

import json
import signal

import pytest

from processes import until
from workers import STAY


@pytest.fixture
def elastic(start, script, shell_worker, tmp_path):
    """elastic("a:1", nodes="1:3") -> (Running, function that replaces the list)."""
    listed = tmp_path / "hosts"

    def write(*lines):
        part = tmp_path / "hosts.part"
        part.write_text("".join(f"{line}\n" for line in lines))
        part.rename(listed)

    def elastic_(*lines, nodes="1:3", more=(), env=None):
        write(*lines)
        worker = shell_worker('note "$GROUP_WORLD_SIZE.$RANK.$$"\n' + STAY)
        return start(*more, f"--host-discovery-script=cat {listed}", f"--nnodes={nodes}",
                     "--rdzv-conf=last_call_timeout=1", "--no-python", worker, env=env), write

    return elastic_


def worlds(seen):
    return {path.name.split(".")[0] for path in seen.iterdir() if path.name.count(".") == 2 and path.name[0].isdigit()}


def test_hosts_come_and_go(elastic, seen):
    run, write = elastic("a:1", more=["--launcher=fork"])
    until(lambda: worlds(seen) == {"1"}, 20, "the first host")
    write("a:1", "b:1", "c:1")
    until(lambda: "3" in worlds(seen), 20, "two more")
    for note in seen.glob("2.*"):
        note.unlink()
    write("a:1", "c:1")
    until(lambda: "2" in worlds(seen), 20, "the leave of one")
    until(lambda: "host b is not listed any more" in run.err(), 10, "the line about it")
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143


@pytest.mark.parametrize("workers", ["-n", "--nproc-per-node"])
def test_a_job_whose_only_host_has_too_few_slots_waits_for_others_and_ends_on_sigterm(start, workers):
    run = start("--host-discovery-script=echo a:1", "--launcher=fork", workers, "2", "true")
    until(lambda: "2 workers for 1 slot, expected no more workers than slots" in run.err(), 20, "the refusal")
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143


def test_a_host_that_fails_is_started_again(elastic, seen, fake_ssh):
    fake_ssh.behave("b", "refuse")
    run, _ = elastic("a:1", "b:1", env=fake_ssh.env)
    until(lambda: len(fake_ssh.calls("b")) >= 2, 20, "a second login")
    fake_ssh.behave("b", "")
    until(lambda: "2" in worlds(seen), 30, "a world of both")
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143


def test_a_host_that_has_done_its_part_is_not_started_again(start, tmp_path):
    """While the end of the job waits for a frozen agent."""
    events = tmp_path / "events"
    worker = '[ "$GROUP_RANK" = 1 ] && kill -STOP $PPID; exit 0'
    run = start("--launcher=fork", "--host-discovery-script=printf 'a:1\\nb:1\\n'", "--nnodes=1:2", f"--event-log={events}",
                "--node-timeout=2", "--rdzv-conf=last_call_timeout=5", "--no-python", "sh", "-c", worker)
    assert run.wait(60).rc == 0, run.err()
    assert [line for line in run.err().splitlines() if "host a" in line] == []
    started = [json.loads(line)["host"] for line in events.read_text().splitlines() if '"host_started"' in line]
    assert started.count("a") == 1, started


@pytest.mark.parametrize("launcher", ["fork", "ssh"])
def test_a_host_that_is_withdrawn_before_the_job_begins_is_no_failed_login(elastic, seen, fake_ssh, tmp_path, launcher):
    events = tmp_path / "events"
    run, write = elastic("a:1", nodes="2", more=[f"--launcher={launcher}", f"--event-log={events}"], env=fake_ssh.env)
    until(lambda: events.exists() and "host_connected" in events.read_text(), 10, "the agent of the first host")
    write("b:1", "c:1")
    until(lambda: "2" in worlds(seen), 30, "a world of the others")
    assert run.err().splitlines() == ["dlaunch: host a: it is not listed any more"]
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143


def test_a_wrong_list_is_told_once_and_changes_nothing(elastic, seen):
    run, write = elastic("a:1", "b:1", more=["--launcher=fork"])
    until(lambda: "2" in worlds(seen), 20, "both hosts")
    for line in "a:1:9", "a:1 b:1 c":
        write(line)
        until(lambda: run.err().count("the list of hosts stays as it was") == (1 if line == "a:1:9" else 2), 10, "the line about it")
    write("a:1", "b:1", "c:1")
    until(lambda: "3" in worlds(seen), 20, "the next right list")
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143 and run.err().count("stays as it was") == 2, run.err()


def test_a_script_that_fails_at_first_ends_the_job(dlaunch):
    result = dlaunch("--launcher=fork", "--host-discovery-script=exit 3", "--nnodes=1:2", "--no-python", "true")
    assert result.rc == 80 and result.err == "dlaunch: --host-discovery-script: sh exited with 3\n"


def test_a_script_that_never_ends_is_named_with_its_time_limit(start):
    run = start("--launcher=fork", "--host-discovery-script=exec sleep 617", "--nnodes=1:2", "--no-python", "true")
    result = run.wait(45)
    assert result.rc == 80 and result.err == "dlaunch: --host-discovery-script: it has not ended within 30 s\n"
    run.nothing_left()
