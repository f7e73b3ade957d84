"""A program, or its working directory, on a file system that does not answer: the agent stays able to act."""

import errno
import signal

import pytest

from processes import until
from seccomp import CLONE3, refusing
from silent_files import silent_folder

pytestmark = pytest.mark.root


@pytest.fixture
def folder(tmp_path):
    with silent_folder(tmp_path / "silent") as path:
        yield path


def begun(start, *words, prefix=()):
    """The run, once the agent has made its first worker's process. No such process outlives the first signal."""
    run = start("--nproc-per-node=6", "--grace=30", "--no-python", *words, prefix=prefix)
    until(lambda: len(run.living()) >= 3, 10, "a process below guard and agent")
    return run


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_job_whose_program_cannot_be_loaded(start, folder, number, status):
    run = begun(start, folder / "program")
    run.signal(number)
    assert run.wait(10).rc == status
    run.nothing_left()


def test_a_signal_ends_such_a_job_without_clone3(start, folder):
    run = begun(start, folder / "program", prefix=refusing(CLONE3, errno.EPERM))
    run.signal(signal.SIGTERM)
    assert run.wait(4).rc == 143  # the guard ends a suspended agent after 5 s
    run.nothing_left()


def test_a_signal_ends_a_job_whose_working_directory_does_not_answer(start, folder):
    run = begun(start, "--chdir", folder / "below", "true")
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
    run.nothing_left()


def test_the_failure_is_reported_when_the_file_system_answers_at_last(start, tmp_path):
    """Closing the mount's connection is an answer: no such program (127), or none that can be read (126)."""
    with silent_folder(tmp_path / "silent") as folder:
        run = begun(start, folder / "program")
    assert run.wait(10).rc in (126, 127)
    assert "could not be executed" in run.err()
