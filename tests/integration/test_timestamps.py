"""--timestamps: each line starts with the time of its arrival."""

import datetime
import re

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def test_before_the_prefix(dlaunch, shell_worker):
    result = dlaunch("-t", "1", "--timestamps", "--no-python", shell_worker("echo word\n"))
    stamp = re.fullmatch(rf"({STAMP}) \[default0\]:word\n", result.out)
    age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(
        stamp[1].replace("Z", "+00:00")
    )
    assert abs(age.total_seconds()) < 60


def test_without_a_prefix_too(dlaunch, shell_worker):
    result = dlaunch("--nproc-per-node=2", "--timestamps", "--no-python", shell_worker("echo word\n"))
    assert len(re.findall(rf"^{STAMP} word$", result.out, re.M)) == 2


def test_files_stay_as_they_were(dlaunch, shell_worker, tmp_path):
    dlaunch("-t", "1", "--timestamps", f"--log-dir={tmp_path}/logs", "--no-python", shell_worker("echo word\n"))
    assert (tmp_path / "logs/latest/attempt_0/0/stdout.log").read_text() == "word\n"
