"""Low limits of descriptors and processes."""

import os
import random
import re
import shutil
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("prlimit")
STAY = 'ready\nexec sleep "$TEST_RUN_MARK"\n'


def test_64_files_are_enough_for_a_small_job(dlaunch, shell_worker, tmp_path):
    result = dlaunch(
        "--nproc-per-node=4",
        "-t",
        "3",
        f"--log-dir={tmp_path}/logs",
        "--no-python",
        shell_worker("echo word\n"),
        prefix=("prlimit", "--nofile=64:64"),
    )
    assert result.rc == 0 and result.out.count("]:word") == 4


def test_the_soft_limit_is_raised_for_dlaunch_only(dlaunch, shell_worker):
    result = dlaunch(
        "--nproc-per-node=24",
        "-t",
        "1",
        "--no-python",
        shell_worker("ulimit -S -n\n"),
        prefix=("prlimit", "--nofile=48:4096"),
    )
    assert result.rc == 0 and len(result.out.splitlines()) == 24


def test_too_few_descriptors_are_reported_and_started_workers_stopped(start, shell_worker, seen, tmp_path):
    run = start(
        "--nproc-per-node=64",
        "-t",
        "3",
        f"--log-dir={tmp_path}/logs",
        "--no-python",
        shell_worker(STAY),
        prefix=("prlimit", "--nofile=64:64"),
    )
    result = run.wait(15)
    assert result.rc not in (0, 139) and "open files" in result.err and re.search(r"rank \d+", result.first_line)
    run.nothing_left()


def test_too_few_files_for_processes_alone_names_the_limit(dlaunch):
    result = dlaunch("--nproc-per-node=100", "--no-python", "sleep", "100", prefix=("prlimit", "--nofile=64:64"))
    assert result.rc not in (0, 139) and "the limit is 64; raise it with ulimit -n" in result.err


@pytest.fixture
def other_user(binary, tmp_path):
    """(command prefix for a user with a process limit, folder with a copy of dlaunch and a TMPDIR for this user)."""
    folder = Path(tempfile.gettempdir()) / f"dl-other-{random.getrandbits(32):x}"
    (folder / "tmp").mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "tmp").chmod(0o777)
    shutil.copy(binary, folder / "dlaunch")
    user = random.randint(40_000, 60_000)
    yield lambda count: (
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "prlimit",
        f"--nproc={count}:{count}",
    ), folder
    shutil.rmtree(folder)


@pytest.mark.root
@pytest.mark.needs("setpriv")
def test_too_few_processes_in_the_middle_of_the_start(start, other_user):
    prefix, folder = other_user
    run = start(
        "--nproc-per-node=12",
        "--grace=1",
        "--no-python",
        "sh",
        "-c",
        'exec sleep "$TEST_RUN_MARK"',
        prefix=prefix(6),
        program=folder / "dlaunch",
        cwd="/",
        env={"TMPDIR": folder / "tmp"},
    )
    result = run.wait(15)
    assert (
        result.rc not in (0, 139)
        and re.search(r"rank [1-9]\d*\b", result.first_line)
        and "Resource temporarily unavailable" in result.err
    )
    run.nothing_left()


@pytest.mark.root
@pytest.mark.needs("setpriv")
def test_another_user_may_run_it(start, other_user):
    prefix, folder = other_user
    run = start(
        "--nproc-per-node=2",
        "--no-python",
        "id",
        "-u",
        prefix=prefix(50),
        program=folder / "dlaunch",
        cwd="/",
        env={"TMPDIR": folder / "tmp"},
    )
    result = run.wait(15)
    assert (
        result.rc == 0 and result.out.split() == [prefix(1)[1].split("=")[1]] * 2 and os.listdir(folder / "tmp") == []
    )
