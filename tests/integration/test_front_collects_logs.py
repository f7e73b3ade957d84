"""--collect-logs: the log files of all hosts come to the front end."""

import json
from pathlib import Path

import pytest

SAY = ["--no-python", "sh", "-c", 'echo "out $RANK"; echo "err $RANK" >&2; head -c 3000000 /dev/zero | tr "\\0" "$RANK"']


def test_every_ranks_files_arrive(dlaunch, tmp_path, tmpdir_of_job):
    logs = tmp_path / "logs"
    result = dlaunch("--launcher=fork", "--hosts=a:2,b", "-r", 3, f"--log-dir={logs}", "--collect-logs", *SAY)
    assert result.rc == 0, result.err
    for host, local, rank in ("a", 0, 0), ("a", 1, 1), ("b", 0, 2):
        folder = logs / host / "attempt_0" / str(local)
        assert (folder / "stdout.log").read_text() == f"out {rank}\n" + str(rank) * 3_000_000
        assert (folder / "stderr.log").read_text() == f"err {rank}\n"
    assert list(tmpdir_of_job.iterdir()) == [], "nothing stays on the nodes"


def test_without_a_folder_it_is_refused(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a", "--collect-logs", "true")
    assert result.rc == 2 and "--collect-logs: expected --log-dir" in result.err


def test_a_folder_that_cannot_be_made_is_refused_before_anything_starts(dlaunch, tmp_path):
    (tmp_path / "logs").write_text("a file")
    result = dlaunch("--launcher=fork", "--hosts=a", f"--log-dir={tmp_path}/logs", "--collect-logs", "--no-python", "echo", "up")
    assert result.rc == 2 and result.out == "" and f"log directory {tmp_path}/logs: Not a directory; " in result.err


def test_a_start_that_fails_leaves_nothing_on_the_other_hosts(start, fake_ssh, tmp_path, tmpdir_of_job):
    fake_ssh.behave("nb", "12 files")
    result = start("--hosts=na,nb,nc", "-r", 3, f"--log-dir={tmp_path}/logs", "--collect-logs", *SAY,
                   env={**fake_ssh.env, "TMPDIR": str(tmpdir_of_job)}).wait(20)
    assert result.rc == 126 and list(tmpdir_of_job.iterdir()) == [], result.err


def test_the_report_names_the_collected_files(dlaunch, tmp_path):
    logs, report = tmp_path / "logs", tmp_path / "report.json"
    fails = ["--no-python", "sh", "-c", "echo why >&2; exit 3"]
    result = dlaunch("--launcher=fork", "--hosts=a,b", "-r", 3, f"--log-dir={logs}", f"--report={report}", "--collect-logs", *fails)
    first = json.loads(report.read_text())["failures"][0]
    assert result.rc == 3 and str(Path(first["stderr_file"]).parent) in result.err
    assert Path(first["stderr_file"]).read_text() == "why\n" and Path(first["stdout_file"]).read_text() == ""
