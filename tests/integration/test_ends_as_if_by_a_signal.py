"""Workers that end with the status of SIGINT or SIGTERM although no such signal was sent have failed, with that status."""

import pytest


@pytest.mark.parametrize("worker, status", [
    ("exit 130", 130), ("exit 143", 143), ("kill -TERM $$", 143), ("kill -INT $$", 130),
])  # fmt: skip
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_all_at_once(dlaunch, worker, status, workers):
    result = dlaunch(f"--nproc-per-node={workers}", "--no-python", "sh", "-c", worker)
    assert result.rc == status and result.first_line.startswith("dlaunch: rank "), result.err
