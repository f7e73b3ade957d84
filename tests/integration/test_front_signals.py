"""Signals to the front end reach the workers of all hosts."""

import json
import os
import signal

import pytest

from processes import children, until

WORKER = """
for name in TERM INT USR1; do trap "note $RANK.$name; [ $name = USR1 ] || { trap - $name; kill -$name $$; }" $name; done
ready
while :; do sleep 0.01; done
"""


@pytest.fixture
def running(start, shell_worker):
    run = start("--launcher=fork", "--hosts=a,b", "--report=report.json", "--no-python", shell_worker(WORKER))
    run.ready(2)
    return run


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_end_signal_ends_them(running, seen, tmp_path, number, status):
    running.signal(number)
    assert running.wait().rc == status
    name = number.name.removeprefix("SIG")
    assert {path.name for path in seen.iterdir()} == {"0.ready", "1.ready", f"0.{name}", f"1.{name}"}
    assert json.loads((tmp_path / "report.json").read_text())["reason"] == f"{number.name} received"


def test_a_user_signal_ends_nothing(running, seen):
    running.signal(signal.SIGUSR1)
    until(lambda: (seen / "0.USR1").exists() and (seen / "1.USR1").exists(), 10, "the signal on both hosts")
    running.signal(signal.SIGTERM)
    assert running.wait().rc == 143


def test_a_second_interrupt_kills(start, shell_worker, seen):
    run = start("--launcher=fork", "--hosts=a,b", "--no-python", shell_worker("trap 'note $RANK.told' INT\nready\nwhile :; do sleep 0.01; done\n"))
    run.ready(2)
    run.signal(signal.SIGINT)
    until(lambda: (seen / "0.told").exists() and (seen / "1.told").exists(), 10, "the first one")
    run.signal_again(signal.SIGINT)
    assert run.wait(10).rc == 130
    first, second = "stopping the workers of all hosts (again: kill them)", "killing the workers of all hosts"
    assert run.err().splitlines() == [f"dlaunch: SIGINT received, {text}" for text in (first, second)]


def test_a_signal_to_one_host_is_named(running):
    relay = children(running.agent())[1]
    os.kill(children(relay)[0], signal.SIGTERM)
    result = running.wait(10)
    lines = [line for line in result.err.splitlines() if line.startswith("dlaunch: ")]  # shells write, too
    assert result.rc == 143 and lines == ["dlaunch: SIGTERM received on b"], result.err


def test_an_interrupt_during_the_start_ends_it(start, fake_ssh):
    fake_ssh.behave("nb", "hang")
    run = start("--hosts=na,nb", "true", env=fake_ssh.env)
    until(lambda: fake_ssh.calls("nb"), 10, "the login")
    run.signal(signal.SIGINT)
    assert run.wait(10).rc == 130
    run.nothing_left(5)


def test_each_host_names_the_workers_that_outlive_the_grace(start, shell_worker):
    run = start("--launcher=fork", "--hosts=a,b", "--grace=0.5", "--no-python", shell_worker("trap '' TERM\nready\nwhile :; do sleep 0.01; done\n"))
    run.ready(2)
    run.signal(signal.SIGTERM)
    result = run.wait(15)
    assert {f"dlaunch: host {host}: killing 1 worker that did not end" for host in "ab"} <= {*result.err.splitlines()}


def test_a_quiet_job_names_none_of_them(start, shell_worker):
    worker = shell_worker("trap '' TERM\nready\n[ $RANK = 0 ] || { until [ -e $SEEN/0.ready ]; do sleep 0.01; done; exit 3; }\nwhile :; do sleep 0.01; done\n")
    result = start("--launcher=fork", "--hosts=a,b", "--quiet", "--grace=0.5", "--max-restarts=1", "--no-python", worker).wait(15)
    assert result.rc == 3 and "killing" not in result.err and "restarting" not in result.err, result.err
