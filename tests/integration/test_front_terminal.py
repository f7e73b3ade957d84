"""A terminal as the front end's standard input."""

import re

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


@pytest.mark.parametrize("reader", ["0", "all"])
@pytest.mark.parametrize("ui", ["auto", "plain"])
@pytest.mark.parametrize("hosts", [HOSTS, ["-n", "2", "--no-python"]], ids=["hosts", "here"])
@pytest.mark.parametrize("stream", [1, 2])
def test_a_prompt_is_visible_before_the_answer(terminal, shell_worker, hosts, ui, reader, stream):
    asks = f'ready\n[ $RANK = 0 ] || exec sleep 100\nprintf "name? " >&{stream}\nread -r a\necho "got $a"\nexit 3\n'
    tty = terminal(f"--stdin={reader}", f"--ui={ui}", *hosts, shell_worker(asks))
    tty.expect(r"name\? ")
    tty.line("bob")
    tty.expect("got bob")
    assert tty.finish()[0] == 3


def test_an_interrupt_ends_the_job(terminal, shell_worker):
    tty = terminal("--stdin=all", "--ui=plain", *HOSTS, shell_worker('ready\nread -r a\necho "got $a"\nexec sleep 100\n'))
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


STAYS = """trap '' TERM
ready
[ $RANK.$DLAUNCH_ROUND = 1.0 ] && await 0.ready && exit 3
[ $DLAUNCH_ROUND = 1 ] && exit 0
"""
STOPS = r"\x1b\[Kstopping all workers: "


@pytest.mark.parametrize("options, text, reason, rc", [
    ([], STAYS, r"rank 1 \(b, pid \d+\) exited with 3 after .*", 3),
    (["--max-restarts=1"], STAYS, r"rank 1 \(b, pid \d+\) exited with 3 after .*", 0),
    (["--timeout=2"], "trap '' TERM\nready\n", "the job outlived --timeout=2 on [ab]", 84),
])
def test_a_line_tells_why_workers_are_being_stopped(terminal, shell_worker, options, text, reason, rc):
    tty = terminal(*options, "--ui=plain", *HOSTS, "--grace=4", shell_worker(text + IDLE))
    tty.expect(STOPS + reason + r" \(\d s\)")
    tty.expect(r"\r\x1b\[K")
    assert tty.finish()[0] == rc


def test_the_status_line_counts_no_host_that_has_failed(terminal, fake_ssh):
    fake_ssh.behave("nb", "refuse")
    fake_ssh.behave("nc", "hang")
    tty = terminal("--hosts=na,nb,nc", "--nnodes=1:3", "--no-python", "true", env=fake_ssh.env)
    tty.expect(r"starting: 1 of 2 hosts, waiting for nc \(\d+ s\)")
    tty.tty.sendintr()
    assert tty.finish()[0] == 130


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


BAR = """ready
for rank in 0 1 2 3; do await $rank.ready; done
echo together
printf '\\r50%% of %s' $RANK >&2
await go
printf '\\r100%% of %s\\n' $RANK >&2
"""


def test_workers_of_all_hosts_have_one_live_view(terminal, shell_worker, seen):
    tty = terminal(*HOSTS, "--nproc-per-node=2", shell_worker(BAR), env={"NO_COLOR": "1"})
    tty.expect(r"\[0-3\] together")
    tty.expect(r"\[0\] 50% of 0[^\n]*\n\[1\] 50% of 1[^\n]*\n\[2\] 50% of 2[^\n]*\n\[3\] 50% of 3[^\n]*\n0:0\d . 4 of 4 workers alive")
    (seen / "go").touch()
    rc, text = tty.finish()
    last = text[text.rindex("50% of"):]
    assert rc == 0 and all(last.count(f"[{rank}] 100% of {rank}") == 1 for rank in range(4)), last


def test_a_failure_is_reported_once_below_the_view(terminal, shell_worker):
    tty = terminal(*HOSTS, shell_worker("ready\n[ $RANK = 0 ] && exec sleep 100\nawait 0.ready\necho broken >&2\nexit 3\n"), env={"NO_COLOR": "1"})
    rc, text = tty.finish()
    assert rc == 3 and text.count("[1] broken") == 1 and text.count("exited with 3") == 1


def test_the_live_view_of_hosts_says_why_workers_are_being_stopped(terminal, shell_worker):
    tty = terminal(*HOSTS, "--grace=4", shell_worker(STAYS + IDLE))
    tty.expect(r"stopping all workers: rank 1 \(b, pid \d+\) exited with 3 after .* \(\d s\)")
    assert tty.finish()[0] == 3


def test_a_lost_host_leaves_no_bar(terminal, shell_worker, seen):
    tty = terminal(*HOSTS, shell_worker("ready\nprintf half\nawait go\n[ $RANK = 0 ] || kill -9 $PPID\nexec sleep 100\n"), env={"NO_COLOR": "1"})
    tty.expect(r"\[0-1\] half")
    (seen / "go").touch()
    rc, text = tty.finish()
    assert rc != 0 and "b was lost" in text
    assert re.search("\x1b\\[J[^\x1b]*$", text), "nothing is drawn after the last text"
