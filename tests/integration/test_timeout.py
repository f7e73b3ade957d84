"""--timeout: the job ends with 84, and the report names the ranks that were still running."""

import json
import signal

from processes import until


def test_status_and_names(job, tmp_path):
    run = job(
        "[ $RANK = 1 ] && exit 0\nexec sleep $TEST_RUN_MARK\n",
        "--timeout=0.5",
        f"--report={tmp_path}/report.json",
        workers=3,
    )
    result = run.wait(10)
    assert result.rc == 84 and 0.5 <= result.seconds < 5
    assert "0.5" in result.first_line and "--timeout" in result.first_line and "rank 1" not in result.first_line
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["exit_status"] == 84 and {failure["rank"] for failure in report["failures"]} == {0, 2}


def test_a_job_in_time(dlaunch):
    assert tuple(dlaunch("--timeout=20", "--no-python", "true"))[0] == 0


def test_workers_that_ignore_the_signal_are_killed(job):
    result = job("trap '' TERM\nready\nwhile :; do sleep 0.05; done\n", "--timeout=0.5", "--grace=0.3").wait(10)
    assert result.rc == 84 and result.seconds < 5


def test_the_first_interrupt_afterwards_leaves_the_grace(job, seen):
    run = job("trap 'note caught' TERM\ntrap '' INT\nready\nuntil [ -e $SEEN/go ]; do sleep 0.01; done\nnote saved\n",
              "--timeout=0.5", "--grace=600", workers=1)  # fmt: skip
    until((seen / "caught").exists, 10, "the end of the time")
    run.signal(signal.SIGINT)
    until(lambda: "SIGINT received, already ending" in run.err(), 10, "its message")
    run.go()
    assert run.wait(10).rc == 84 and (seen / "saved").exists()


def test_restarts_do_not_reset_it(job, seen):
    run = job(
        'note "round.$DLAUNCH_ROUND"\n[ $DLAUNCH_ROUND = 0 ] && exit 1\nexec sleep $TEST_RUN_MARK\n',
        "--timeout=1",
        "--max-restarts=1",
        workers=1,
    )
    result = run.wait(10)
    assert result.rc == 84 and (seen / "round.1").exists() and result.seconds < 3


def test_after_a_failure_stopped_workers_do_not_count_as_failed(job, tmp_path):
    run = job(
        "[ $RANK = 0 ] && await 1.ready && exit 9\ntrap '' TERM\nready\nwhile :; do sleep 0.05; done\n",
        "--timeout=1",
        "--grace=3",
        "--max-restarts=1",
        f"--report={tmp_path}/report.json",
    )
    assert run.wait(10).rc == 84
    failures = json.loads((tmp_path / "report.json").read_text())["failures"]
    assert [failure["rank"] for failure in failures if not failure["victim"]] == [0]
