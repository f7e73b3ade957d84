"""--report FILE: the same facts as the report on stderr, as JSON."""

import json
import os
import re
import socket

import pytest

from workers import STAY


@pytest.fixture
def reported(job, tmp_path):
    """reported(text, *options) -> (Result, JSON report)."""

    def reported_(text, *options, **more):
        result = job(text, f"--report={tmp_path}/report.json", *options, **more).wait()
        return result, json.loads((tmp_path / "report.json").read_text())

    return reported_


def test_both_have_the_same_content(reported, seen):
    result, report = reported(
        "ready\nif [ $RANK = 1 ]; then await 0.ready; echo a last line >&2; exit 37; fi\n" + STAY,
        workers=3,
    )
    cause = report["failures"][0]
    text = re.fullmatch(
        r"dlaunch: rank (\d+) \((\S+), pid (\d+)\) exited with (\d+)(?: in round \d+)? after [\d.]+ m?s",
        next(row for row in result.err.splitlines() if row.startswith("dlaunch: rank")),
    )
    assert text and len(text[0]) <= 100
    assert (
        (cause["rank"], cause["host"], cause["pid"], cause["code"])
        == (int(text[1]), text[2], int(text[3]), int(text[4]))
        == (1, socket.gethostname(), int((seen / "1.ready").read_text()), 37)
    )
    assert cause["last_words"] == ["a last line"] and "a last line" in result.err
    assert report["exit_status"] == result.rc == 37 and cause["victim"] is False
    assert {failure["rank"] for failure in report["failures"] if failure["victim"]} == {0, 2}


def test_a_pipe_without_a_reader_causes_a_warning(job, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = job("exit 0\n", f"--report={tmp_path}/pipe").wait()
    assert (result.rc, result.err) == (0, f"dlaunch: report {tmp_path}/pipe: a FIFO without a reader\n")


def test_a_signal(reported):
    result, report = reported("[ $RANK = 1 ] && kill -KILL $$\nexec sleep $TEST_RUN_MARK\n")
    assert (
        result.rc == report["exit_status"] == 137
        and "SIGKILL" in json.dumps(report["failures"][0])
        and "SIGKILL" in result.err
    )


def test_a_success_is_reported_too(reported):
    result, report = reported("exit 0\n", workers=3)
    assert result.err == "" and report["exit_status"] == 0 and report["failures"] == []
    assert [worker["rank"] for worker in report["workers"]] == [0, 1, 2] and all(
        worker["exit_status"] == 0 for worker in report["workers"]
    )


def test_restarts_are_counted(reported):
    result, report = reported("[ $DLAUNCH_ROUND = 2 ]\n", "--max-restarts=3", "--restart-backoff=0.01", workers=1)
    assert (result.rc, report["restarts"], report["max_restarts"], report["rounds"]) == (0, 2, 3, 3)


def test_memory_and_processor_time(dlaunch, python_worker, tmp_path):
    busy = "kept = bytearray(b'x' * (64 << 20))\nwhile time.process_time() < 0.3: pass\n"
    assert dlaunch(f"--report={tmp_path}/report.json", "--no-python", python_worker(busy)).rc == 0
    (worker,) = json.loads((tmp_path / "report.json").read_text())["workers"]
    assert 64 << 10 < worker["max_rss_kib"] < 300 << 10 and 0.25 < worker["user_seconds"] + worker["system_seconds"] < 5


def test_a_folder_is_refused_at_once(dlaunch, tmp_path, seen):
    result = dlaunch(f"--report={tmp_path}", "--no-python", "touch", seen / "started")
    assert result.rc == 2 and str(tmp_path) in result.first_line and not (seen / "started").exists()


def test_a_link_is_followed_and_kept(job, tmp_path):
    behind = tmp_path / "behind.json"
    behind.write_text("old, and much longer than nothing " * 1000)
    (tmp_path / "report.json").symlink_to(behind)
    assert job("exit 3\n", f"--report={tmp_path}/report.json").wait().rc == 3
    assert (tmp_path / "report.json").is_symlink() and json.loads(behind.read_text())["exit_status"] == 3


@pytest.mark.root
def test_a_mount_point_is_written_to(start, binary, tmp_path):
    report, behind = tmp_path / "report.json", tmp_path / "behind"
    report.touch()
    behind.touch()
    text = f"mount --bind '{behind}' '{report}' && '{binary}' --report='{report}' --no-python false"
    assert start("-m", "sh", "-c", text, program="unshare").wait().rc == 1
    assert json.loads(behind.read_text())["exit_status"] == 1


@pytest.mark.parametrize("where", [["--nproc-per-node=2"], ["--launcher=fork", "--hosts=a,b"]], ids=["one node", "two hosts"])
def test_on_standard_output(dlaunch, tmp_path, where):
    result = dlaunch("--report=-", *where, "--no-python", "sh", "-c", "exit $((RANK * 3))")
    assert result.rc == 3 and json.loads(result.out)["exit_status"] == 3 and not (tmp_path / "-").exists()


def test_the_event_log_on_standard_output(dlaunch, tmp_path):
    result = dlaunch("--event-log", "-", "--no-python", "echo", "from the worker")
    lines = result.out.splitlines()
    lines.remove("from the worker")
    assert [json.loads(line)["event"] for line in lines][::len(lines) - 1] == ["job_started", "job_ended"]
    assert not (tmp_path / "-").exists()


def test_the_event_log_of_a_front_end_on_standard_output(dlaunch, tmp_path):
    result = dlaunch("--event-log=-", "--launcher=fork", "--hosts=a,b", "true")
    events = [json.loads(line)["event"] for line in result.out.splitlines()]
    assert (events[0], events[-1]) == ("job_started", "job_ended") and not (tmp_path / "-").exists()
