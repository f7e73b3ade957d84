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
        folder = logs / "latest" / host / "attempt_0" / str(local)
        assert (folder / "stdout.log").read_text() == f"out {rank}\n" + str(rank) * 3_000_000
        assert (folder / "stderr.log").read_text() == f"err {rank}\n"
    assert list(tmpdir_of_job.iterdir()) == [], "nothing stays on the nodes"


def test_each_run_has_a_folder_and_the_oldest_go(dlaunch, tmp_path):
    words = ["--launcher=fork", "-r", 3, "--log-dir=logs", "--collect-logs", "--rdzv-id=job", "--keep-runs=2", *SAY]
    runs = []
    for hosts in "a,b", "a", "b":
        assert dlaunch(f"--hosts={hosts}", *words).rc == 0
        runs.append((tmp_path / "logs/latest").resolve())
        assert sorted(host.name for host in runs[-1].iterdir()) == hosts.split(",")
    assert sorted(tmp_path.glob("logs/job_*")) == sorted(runs[1:])


def test_without_a_folder_it_is_refused(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a", "--collect-logs", "true")
    assert result.rc == 2 and "--collect-logs: expected --log-dir" in result.err


def test_without_log_files_it_has_no_effect(dlaunch, tmp_path):
    result = dlaunch("--launcher=fork", "--hosts=a,b", f"--log-dir={tmp_path}/logs", "--collect-logs", *SAY)
    assert result.rc == 0 and result.first_line == "dlaunch: --collect-logs has no effect without log files: add -r 3 or -t 3"


def test_a_folder_that_cannot_be_made_is_refused_before_anything_starts(dlaunch, tmp_path):
    (tmp_path / "logs").write_text("a file")
    result = dlaunch("--launcher=fork", "--hosts=a", f"--log-dir={tmp_path}/logs", "--collect-logs", "--no-python", "echo", "up")
    assert result.rc == 2 and result.out == "" and f"log directory {tmp_path}/logs: Not a directory; " in result.err


def test_a_start_that_fails_leaves_nothing_on_the_other_hosts(start, fake_ssh, tmp_path, tmpdir_of_job):
    fake_ssh.behave("nb", "12 files")
    result = start("--hosts=na,nb,nc", "-r", 3, f"--log-dir={tmp_path}/logs", "--collect-logs", *SAY,
                   env={**fake_ssh.env, "TMPDIR": str(tmpdir_of_job)}).wait(20)
    assert result.rc == 126 and list(tmpdir_of_job.iterdir()) == [], result.err


def test_a_lost_hosts_files_are_said_to_be_lost(dlaunch, tmp_path):
    """The node's own dlaunch, which would send them, is the parent of the guard of the worker's agent."""
    parent = 'p=$PPID; for i in 1 2; do p=$(cut -d" " -f4 /proc/$p/stat); done; '
    ends = ["--no-python", "sh", "-c", parent + '[ $RANK = 0 ] || kill -9 $p; exec sleep "$TEST_RUN_MARK"']
    result = dlaunch("--launcher=fork", "--hosts=a,b", "-r", 3, f"--log-dir={tmp_path}/logs", "--collect-logs", *ends)
    assert result.rc != 0 and result.err.splitlines().count("dlaunch: b: its log files are lost with it") == 1, result.err
    assert (tmp_path / "logs/latest/a/attempt_0/0/stdout.log").exists()


def test_the_report_names_the_collected_files(dlaunch, tmp_path):
    logs, report = tmp_path / "logs", tmp_path / "report.json"
    fails = ["--no-python", "sh", "-c", "echo why >&2; exit 3"]
    result = dlaunch("--launcher=fork", "--hosts=a,b", "-r", 3, f"--log-dir={logs}", f"--report={report}", "--collect-logs", *fails)
    told = json.loads(report.read_text())
    first = told["failures"][0]
    assert Path(told["log_directory"]) == (logs / "latest").resolve()
    assert result.rc == 3 and f"{logs}/latest/{first['host']}/attempt_0/0/" in result.err
    assert Path(first["stderr_file"]).parent.samefile(logs / "latest" / first["host"] / "attempt_0/0")
    assert Path(first["stderr_file"]).read_text() == "why\n" and Path(first["stdout_file"]).read_text() == ""
