"""Signals to the front end reach the workers of all hosts."""

import signal

import pytest

from processes import until

WORKER = """
for name in TERM INT USR1; do trap "note $RANK.$name; [ $name = USR1 ] || { trap - $name; kill -$name $$; }" $name; done
ready
while :; do sleep 0.01; done
"""


@pytest.fixture
def running(start, shell_worker):
    run = start("--launcher=fork", "--hosts=a,b", "--no-python", shell_worker(WORKER))
    run.ready(2)
    return run


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_end_signal_ends_them(running, seen, number, status):
    running.signal(number)
    assert running.wait().rc == status
    name = number.name.removeprefix("SIG")
    assert {path.name for path in seen.iterdir()} == {"0.ready", "1.ready", f"0.{name}", f"1.{name}"}


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


def test_an_interrupt_during_the_start_ends_it(start, fake_ssh):
    fake_ssh.behave("nb", "hang")
    run = start("--hosts=na,nb", "true", env=fake_ssh.env)
    until(lambda: fake_ssh.calls("nb"), 10, "the login")
    run.signal(signal.SIGINT)
    assert run.wait(10).rc == 130
    run.nothing_left(5)
