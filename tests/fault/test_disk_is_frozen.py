"""The file system of log files, event log or report does not answer: signals, failures and restarts are served at once,
and lines are late."""

import json
import os
import signal
import time

import pytest

from processes import alive, has_blocked_thread, until
from silent_files import silent_folder
from still_disk import still_disk

pytestmark = pytest.mark.root

# Each worker writes a line after the note `go`, then leaves a note: its pipe accepted the line.
PRINTS = 'note "$RANK.ready" $$; await go; echo news; note "$RANK.printed"; '


@pytest.fixture
def disk(tmp_path):
    with still_disk(tmp_path) as made:
        yield made


def log_of(disk):
    """The stdout log of local rank 0 in the first attempt."""
    (log,) = disk.path.glob("latest/attempt_0/0/stdout.log")
    return log


def test_a_failure_ends_the_other_workers(disk, job):
    run = job(PRINTS + "[ $RANK = 1 ] && { echo worse >&2; exit 3; }; exec sleep 600", "-t", "3", f"--log-dir={disk.path}")
    other, _ = run.ready(2)
    with disk.frozen():
        run.go()
        until(lambda: not alive(other), 5, "the end of the other worker")
    result = run.wait(15)
    assert result.rc == 3 and "rank 1" in result.err and "exited with 3" in result.err
    assert "worse" in result.err or "not known" in result.err
    assert "its stderr is empty" not in result.err and "dlaunch: dlaunch:" not in result.err
    run.nothing_left()


def test_a_killed_agent_is_noticed(disk, job):
    """The I/O thread cannot die, so the kernel does not report the agent's death."""
    run = job('setsid sleep "$TEST_RUN_MARK" & ' + PRINTS + "exec sleep 600", "-r", "3", f"--log-dir={disk.path}")
    workers = run.ready(2)
    with disk.frozen():
        run.go()
        until(lambda: (run.folder / "1.printed").exists(), 5, "the lines")
        agent = run.agent()
        until(lambda: has_blocked_thread(agent), 5, "an I/O thread in the write")
        os.kill(agent, signal.SIGKILL)
        result = run.wait(5)
        assert result.rc == 137 and "was killed by signal 9" in result.err
        until(lambda: not any(map(alive, workers)), 1, "the end of the workers")
        left = lambda: [pid for pid in run.living() if pid != agent]
        until(lambda: not left(), 1, "the end of all others")  # a removal of folders may take long
    run.nothing_left()


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_workers(disk, job, number, status):
    run = job(PRINTS + "exec sleep 600", "-r", "3", f"--log-dir={disk.path}")
    workers = run.ready(2)
    with disk.frozen():
        run.go()
        until(lambda: (run.folder / "1.printed").exists(), 5, "the lines")
        run.signal(number)
        until(lambda: not any(map(alive, workers)), 5, "the end of the workers")
    assert run.wait(15).rc == status
    run.nothing_left()


def test_the_next_attempt_starts(disk, job):
    run = job(
        'note "$RANK.$TORCHELASTIC_RESTART_COUNT"; [ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0; await go; echo bad; exit 3',
        "-r", "3", "--max-restarts=1", f"--log-dir={disk.path}",
    )
    until(lambda: (run.folder / "1.0").exists() and (run.folder / "0.0").exists(), 20, "the first attempt")
    with disk.frozen():
        run.go()
        until(lambda: (run.folder / "1.1").exists() and (run.folder / "0.1").exists(), 10, "the second attempt")
    assert run.wait(15).rc == 0
    logs = [path.read_text() for path in disk.path.glob("latest/attempt_0/[01]/stdout.log")]
    assert "bad\n" in logs and set(logs) <= {"", "bad\n"}, "late, and whole; a worker may be stopped before its line"


def test_lines_and_events_come_when_the_disk_answers(disk, job):
    run = job(PRINTS + "exit 0", "-r", "1", f"--log-dir={disk.path}", f"--event-log={disk.path}/events", workers=1)
    run.ready(1)
    with disk.frozen():
        run.go()
        until(lambda: (run.folder / "0.printed").exists(), 5, "the line")
    assert run.wait(15).rc == 0
    assert log_of(disk).read_text() == "news\n"
    events = [json.loads(line) for line in (disk.path / "events").read_text().splitlines()]
    times = [event["monotonic"] for event in events]
    assert times == sorted(times) and events[-1]["event"] == "job_ended"


def test_the_end_names_a_report_that_cannot_be_written(start, tmp_path):
    with silent_folder(tmp_path / "silent") as folder:
        result = start(f"--report={folder}/report", "--no-python", "sh", "-c", "exit 3").wait(25)
    assert result.rc == 3 and "exited with 3" in result.err
    assert "the report could not be written: the file system does not answer" in result.err


@pytest.mark.parametrize("signals, limit", [(0, 8), (1, 8), (2, 4)])
def test_the_end_waits_only_once_for_a_console(disk, start, seen, signals, limit):
    """Agent and guard share one patience of 5 s, beside 1 s for the I/O thread; a further signal ends it."""
    worker = 'until [ -e "$SEEN/go" ]; do echo more; sleep 0.02; done; exit 3'
    with (disk.path / "out").open("wb") as out, (disk.path / "err").open("wb") as err:
        run = start("--no-python", "sh", "-c", worker, stdout=out, stderr=err)
        until(lambda: (disk.path / "out").stat().st_size, 10, "the first line")
        with disk.frozen():
            agent = run.agent()
            until(lambda: has_blocked_thread(agent), 5, "an I/O thread in the write")
            begun = time.monotonic()
            for again in range(signals):
                run.signal(signal.SIGTERM)
                time.sleep(0.3 * (again + 1 < signals))  # two requests, not one
            if not signals:
                (seen / "go").touch()
            assert run.wait(15).rc == (143 if signals else 3)
            assert time.monotonic() - begun < limit  # a second wait would last 5 s
    run.nothing_left(5)  # the agent's I/O thread ends when the file system answers


@pytest.mark.parametrize("option", ["--log-dir", "--event-log"])
def test_a_start_on_a_silent_file_system_can_be_ended(start, tmp_path, option):
    with silent_folder(tmp_path / "silent") as folder:
        run = start("-r", "3", f"{option}={folder}/there", "--no-python", "sleep", "600")
        until(lambda: "the job has not begun: the file system of" in run.err(), 10, "the reason for the wait")
        run.signal(signal.SIGTERM)
        begun = time.monotonic()
        assert run.wait(10).rc == 143 and time.monotonic() - begun < 5
        run.nothing_left()


def test_a_folder_of_path_that_does_not_answer_can_be_interrupted(start, tmp_path):
    """The search for the program happens in the worker's process."""
    with silent_folder(tmp_path / "silent") as folder:
        run = start("--grace=1", "--no-python", "true", env={"PATH": f"{folder}:/usr/bin:/bin"})
        until(lambda: len(run.living()) >= 3, 10, "a process below guard and agent")
        run.signal(signal.SIGINT)
        assert run.wait(10).rc == 130
        run.nothing_left()
