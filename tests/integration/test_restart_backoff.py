"""The first restart after a quick failure is immediate; the pause before each further restart doubles up to its limit."""

import itertools
import signal

from processes import children, until


def test_the_pauses(job, seen):
    run = job(
        'cat /proc/uptime > "$SEEN/at.$DLAUNCH_ROUND"\nexit 1\n',
        "--max-restarts=4",
        "--restart-backoff=0.3:0.6",
        workers=1,
    )
    assert run.wait().rc == 1
    at = [float((seen / f"at.{n}").read_text().split()[0]) for n in range(5)]
    first, second, third, fourth = (b - a for a, b in itertools.pairwise(at))
    assert first < 0.28 and 0.28 <= second < 0.58 and 0.58 <= third and 0.58 <= fourth < 1.15


def test_a_signal_ends_a_pause(job, seen):
    run = job('note "failed.$DLAUNCH_ROUND"\nexit 1\n', "--max-restarts=5", "--restart-backoff=600:600", workers=1)
    until(lambda: (seen / "failed.1").exists() and not children(run.agent()), 10, "the pause after the second failure")
    run.signal(signal.SIGTERM)
    assert run.wait(10).rc == 143
