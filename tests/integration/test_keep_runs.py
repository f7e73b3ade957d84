"""Runs without --log-dir are named by date and program, and the newest of them stay."""

import re

import pytest

from processes import until


def runs_of(folder):
    return [path for path in folder.iterdir() if not path.is_symlink()]


def said(folder):
    return sorted(int(path.read_text()) for run in runs_of(folder) for path in run.rglob("stdout.log"))


def test_twenty_stay_in_the_temporary_folder(dlaunch, shell_worker, tmpdir_of_job):
    worker = shell_worker("echo $1\n")
    for turn in range(22):
        result = dlaunch("-r", "3", "--no-python", worker, turn)
        (folder,) = re.findall(r"^dlaunch: log files are in (\S+)$", result.err, re.M)
        assert result.rc == 0 and re.search(rf"/dlaunch-20\d{{6}}-\d{{6}}-{worker.name}-\w{{8}}$", folder)
    assert said(tmpdir_of_job) == list(range(2, 22))


def test_as_many_as_asked_for(dlaunch, shell_worker, tmpdir_of_job):
    worker = shell_worker("echo $1\n")
    for turn in range(4):
        assert dlaunch("-t", "1", "--keep-runs=2", "--no-python", worker, turn).rc == 0
    assert said(tmpdir_of_job) == [2, 3]


@pytest.mark.parametrize("words,kept", [([], [0, 1, 2]), (["--keep-runs=1"], [2])], ids=["all", "one"])
def test_a_log_directory_keeps_all_unless_asked(dlaunch, shell_worker, tmp_path, words, kept):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/results_abcdefgh").mkdir()
    worker = shell_worker("echo $1\n")
    for turn in range(3):
        result = dlaunch("-r", "1", "--log-dir=logs", *words, "--no-python", worker, turn, cwd=tmp_path)
        assert result.rc == 0 and result.err == ""
    assert said(tmp_path / "logs") == kept and (tmp_path / "logs/results_abcdefgh").is_dir()


def test_a_running_job_stays(dlaunch, start, shell_worker, seen, tmpdir_of_job):
    waits = shell_worker('echo 99; touch "$SEEN/up"; until [ -e "$SEEN/go" ]; do sleep 0.02; done\n')
    run = start("-r", "3", "--no-python", waits)
    until((seen / "up").exists, 10, "the worker")
    for turn in range(2):
        assert dlaunch("-r", "3", "--keep-runs=1", "--no-python", "echo", turn).rc == 0
    assert said(tmpdir_of_job) == [1, 99]
    (seen / "go").touch()
    assert run.wait().rc == 0


def test_a_bad_number(dlaunch):
    result = dlaunch("--keep-runs=0", "true")
    assert result.rc == 2 and result.err == "dlaunch: --keep-runs=0: expected a number of runs from 1, or all\n"
