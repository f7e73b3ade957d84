"""The disk of the log files is full: training goes on, and one warning is printed."""

import pytest

pytestmark = [pytest.mark.root, pytest.mark.needs("unshare")]
WRITE = "for n in range(40000): print('a line of some length, number', n)\nsys.stdout.flush()\nnote(f'over.{rank}')\n"


def small(folder, fill=False):
    """A command prefix that mounts a file system of 256 KiB at `folder` for this job; `fill`: full from the start."""
    folder.mkdir(parents=True, exist_ok=True)
    more = f"head -c 1000000 /dev/zero 2>/dev/null > '{folder}/fill'; " if fill else ""
    return (
        "unshare",
        "-m",
        "sh",
        "-c",
        f"mount -t tmpfs -o size=256k tmpfs '{folder}' || exit 99; {more}exec \"$@\"",
        "sh",
    )


@pytest.mark.parametrize("how", ["-r", "-t"])
def test_log_files(start, python_worker, tmp_path, seen, how):
    run = start(
        "--nproc-per-node=2",
        how,
        "3",
        f"--log-dir={tmp_path}/full",
        "--no-python",
        python_worker(WRITE),
        prefix=small(tmp_path / "full"),
    )
    result = run.wait(30)
    assert result.rc == 0 and len(list(seen.glob("over.*"))) == 2
    assert result.err.count("No space left on device") == 1 and len(result.err) < 2000
    lines = len(result.out.splitlines())
    assert lines == 80_000 if how == "-t" else 70_000 < lines < 80_000, "the console has what the files have not"
    assert result.out.count(", number 39999\n") == 2


def test_a_full_temporary_folder(start, python_worker, tmp_path, seen):
    words = ["--nproc-per-node=2", "--no-python", python_worker("note(f'over.{rank}')\n")]
    result = start(*words, prefix=small(tmp_path / "full", fill=True), env={"TMPDIR": tmp_path / "full"}).wait(20)
    assert result.rc == 0 and len(list(seen.glob("over.*"))) == 2


def test_the_event_log(start, tmp_path):
    words = ["--nproc-per-node=4", f"--event-log={tmp_path}/full/events", "--no-python", "true"]
    result = start(*words, prefix=small(tmp_path / "full", fill=True)).wait(20)
    assert result.rc == 0 and result.err.count("No space left on device") == 1


def test_the_report_of_an_earlier_job_stays(start, tmp_path):
    folder = tmp_path / "full"
    write = f"echo old > '{folder}/report'; head -c 1000000 /dev/zero 2>/dev/null > '{folder}/fill'; \"$@\"; cat '{folder}/report'"
    words = (*small(folder), "sh", "-c", write, "sh")
    result = start(f"--report={folder}/report", "--no-python", "true", prefix=words).wait(20)
    assert (result.out, result.err) == ("old\n", f"dlaunch: report {folder}/report: No space left on device\n")


def test_a_failure_is_still_reported(start, shell_worker, tmp_path):
    worker = shell_worker('seq 1 100000\necho last words >&2\n[ $RANK = 1 ] || exec sleep "$TEST_RUN_MARK"\nexit 7\n')
    result = start(
        "--nproc-per-node=2",
        "-r",
        "3",
        f"--log-dir={tmp_path}/full",
        "--no-python",
        worker,
        prefix=small(tmp_path / "full"),
    ).wait(20)
    assert result.rc == 7 and "rank 1" in result.err and "last words" in result.err
