"""A worker floods its output while another worker dies, or while the job is being stopped."""

import signal

import pytest

from processes import until

FLOOD = """if [ $RANK = 1 ]; then ready; await go; exit 9; fi
ready
yes 'a line of a flood that is never read to its end' | head -c 300000000
exec sleep "$TEST_RUN_MARK"
"""
OPTIONS = pytest.mark.parametrize("options", [[], ["-t", "3"], ["-r", "3"]], ids=["plain", "tee", "redirected"])


@pytest.fixture
def flood(job, tmp_path):
    def flood_(options):
        run = job(FLOOD, "--grace=1", *options, *([f"--log-dir={tmp_path}/logs"] if options else []))
        run.ready(2)
        flooded = (
            [run.out_path]
            if options != ["-r", "3"]
            else list((tmp_path / "logs").glob("latest/attempt_0/0/stdout.log"))
        )
        until(lambda: sum(path.stat().st_size for path in flooded) > 1_000_000, 10, "the flood")
        return run

    return flood_


@OPTIONS
def test_a_failure_is_seen_at_once(flood, options):
    run = flood(options)
    run.go()
    result = run.wait(20)
    assert result.rc == 9 and "rank 1" in result.err and result.seconds < 10
    run.nothing_left()


@OPTIONS
def test_a_signal_is_handled(flood, options):
    run = flood(options)
    run.signal(signal.SIGTERM)
    result = run.wait(20)
    assert result.rc == 143 and result.seconds < 10
    run.nothing_left()
