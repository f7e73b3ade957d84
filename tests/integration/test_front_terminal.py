"""A terminal as the front end's standard input."""

import pytest

from workers import IDLE

pytest.importorskip("pexpect")

HOSTS = ["--launcher=fork", "--hosts=a,b", "--no-python"]
ASKS = 'ready\n[ $RANK = 0 ] || exit 0\nread -r a\necho "got $a"\nread -r b || echo "no more"\n'


@pytest.mark.parametrize("workers, options", [
    (2, ["--stdin=0", *HOSTS]),
    (1, ["--launcher=fork", "--hosts=a", "--no-python"]),
])
def test_a_worker_reads_what_is_typed(terminal, shell_worker, workers, options):
    tty = terminal(*options, shell_worker(ASKS))
    tty.ready(workers)
    tty.line("hello")
    tty.expect("got hello")
    tty.tty.sendeof()
    tty.expect("no more")
    assert tty.finish()[0] == 0


def test_an_interrupt_ends_the_job(terminal, shell_worker):
    tty = terminal("--stdin=all", *HOSTS, shell_worker('ready\nread -r a\necho "got $a"\nexec sleep 100\n'))
    tty.line("hello")
    tty.expect("got hello")
    tty.expect("got hello")
    tty.tty.sendintr()
    assert tty.finish()[0] == 130


def test_the_line_after_an_interrupt_counts_from_it(terminal, shell_worker):
    tty = terminal(*HOSTS, "--grace=3", shell_worker("trap '' INT TERM\nsleep 4\nready\n" + IDLE))
    tty.ready(2)
    tty.tty.sendintr()
    assert int(tty.expect(r"stopping: 0 of 2 hosts, waiting for a, b \((\d+) s\)")[1]) <= 2
    assert tty.finish()[0] == 130


STAYS = "trap '' TERM\nready\n[ $RANK = 1 ] && [ $DLAUNCH_ROUND = 0 ] && exit 3\n[ $DLAUNCH_ROUND = 1 ] && exit 0\n"
STOPS = r"\x1b\[Kstopping all workers: "


@pytest.mark.parametrize("options, text, reason, rc", [
    ([], STAYS, r"rank 1 \(b, pid \d+\) exited with 3 after .*", 3),
    (["--max-restarts=1"], STAYS, r"rank 1 \(b, pid \d+\) exited with 3 after .*", 0),
    (["--timeout=1"], "trap '' TERM\nready\n", "the job outlived --timeout=1 on [ab]", 84),
])
def test_a_line_tells_why_workers_are_being_stopped(terminal, shell_worker, options, text, reason, rc):
    tty = terminal(*options, *HOSTS, "--grace=4", shell_worker(text + IDLE))
    tty.expect(STOPS + reason + r" \(\d s\)")
    tty.expect(r"\r\x1b\[K")
    assert tty.finish()[0] == rc


def test_in_the_background_the_shell_keeps_its_input(at_a_shell, shell_worker):
    shell = at_a_shell("--stdin=0", *HOSTS, shell_worker(ASKS), then="&")
    shell.ready(2)
    for n in range(3):
        shell.line(f"echo answer$(({n} + 1))")
        shell.expect(f"answer{n + 1}\r")
    shell.line("fg")
    shell.expect("stdin=0")
    shell.line("hello")
    shell.expect("got hello")
    shell.tty.sendeof()
    shell.expect("no more")
    shell.line("echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"
