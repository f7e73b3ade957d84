"""The file system of TMPDIR does not answer, while a job ends or before it begins: dlaunch ends all the same, after it has
printed, and removes its files when the file system answers."""

import os
import signal
import time

import pytest

from processes import has_blocked_thread, until
from running import kill
from still_disk import still_disk

pytestmark = pytest.mark.root

STAYS = 'ready\nexec sleep "$TEST_RUN_MARK"\n'


@pytest.fixture
def disk(tmpdir_of_job):
    """Below a short path, because sockets have short names."""
    with still_disk(tmpdir_of_job) as made:
        yield made


def left(disk):
    return [path.name for path in disk.path.iterdir() if path.name != "lost+found"]


def test_the_end_of_a_job_is_not_held_up(disk, job):
    run = job(STAYS, env={"TMPDIR": disk.path})
    run.ready(2)
    with disk.frozen():
        run.signal(signal.SIGINT)
        result = run.wait(15)
    assert result.rc == 130
    assert f"the temporary files in {disk.path} could not be removed: the file system does not answer" in result.err
    assert "could not be written" not in result.err
    run.nothing_left(5)


def test_the_end_of_a_killed_agent_is_reported_at_once(disk, job):
    run = job(STAYS, env={"TMPDIR": disk.path})
    run.ready(2)
    with disk.frozen():
        kill(run.agent(), signal.SIGKILL)
        until(lambda: "was killed by signal 9" in run.err(), 3, "the line of the guard")
        assert run.wait(10).rc == 137
    until(lambda: left(disk) == [], 5, "the removal of the folder")
    run.nothing_left(5)


@pytest.mark.parametrize("files", [(), ("-r", "3")], ids=["without-log-files", "with-log-files"])
def test_a_start_can_be_ended(disk, start, tmp_path, files):
    """With a log directory elsewhere only the local socket is in TMPDIR."""
    options = [*files, *(f"--log-dir={tmp_path}/logs" for _ in files[:1])]
    with disk.frozen():
        run = start(*options, "--no-python", "sleep", "600", env={"TMPDIR": disk.path})
        reason = f"the job has not begun: the file system of the temporary files in {disk.path} does not answer"
        until(lambda: reason in run.err(), 10, "the reason for the wait")
        run.signal(signal.SIGTERM)
        begun = time.monotonic()
        assert run.wait(10).rc == 143 and time.monotonic() - begun < 3
    run.nothing_left(5)


def test_the_files_of_a_job_with_log_files_are_removed_last(disk, job, tmp_path):
    """The socket and the pipe of torch's file timer are in TMPDIR."""
    env = {"TMPDIR": disk.path, "TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
    run = job(STAYS, "-r", "3", f"--log-dir={tmp_path}/logs", env=env)
    run.ready(2)
    with disk.frozen():
        run.signal(signal.SIGINT)
        result = run.wait(15)
    assert result.rc == 130 and "could not be removed: the file system does not answer" in result.err
    run.nothing_left(5)


def test_the_end_does_not_wait_for_the_removal_of_leftovers(disk, job, tmp_path):
    """A path too long for the local socket's name: the search for leftovers alone uses the folder."""
    folder = disk.path / ("x" * 100)
    leftover = folder / "dlaunch_abcdef"
    leftover.mkdir(0o700, parents=True)
    os.utime(leftover, (0, 0))
    run = job(STAYS, "-r", "3", f"--log-dir={tmp_path}/logs", env={"TMPDIR": folder})
    with disk.frozen():
        run.ready(2)
        until(lambda: has_blocked_thread(run.agent()), 10, "a thread that the disk blocks")
        run.signal(signal.SIGINT)
        assert run.wait(5).rc == 130
    run.nothing_left(5)
