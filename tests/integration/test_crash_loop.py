"""A job that repeatedly fails in the same way soon after its start ends with 93 (do not requeue)."""


def test_the_same_quick_failure_again_and_again(dlaunch, shell_worker, seen):
    worker = shell_worker('echo round >> "$SEEN/rounds"\nexit 3\n')
    result = dlaunch("--max-restarts=100", "--crash-loop=3", "--restart-backoff=0.01", "--no-python", worker)
    assert result.rc == 93 and (seen / "rounds").read_text().count("round") == 3
    assert "rank 0" in result.first_line and "exited with 3" in result.first_line


def test_failures_that_differ_are_no_loop(dlaunch):
    result = dlaunch(
        "--max-restarts=5",
        "--crash-loop=3",
        "--restart-backoff=0.01",
        "--no-python",
        "sh",
        "-c",
        "exit $((10 + DLAUNCH_ROUND))",
    )
    assert result.rc == 15


def test_it_can_be_switched_off(dlaunch):
    assert (
        dlaunch(
            "--max-restarts=12", "--crash-loop=0", "--restart-backoff=0.001:0.002", "--no-python", "sh", "-c", "exit 4"
        ).rc
        == 4
    )
