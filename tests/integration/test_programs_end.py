"""Programs side by side are one job: one failure ends or restarts all, a good end ends nothing else."""

import os
import signal

import pytest
from processes import until

WORK = """ready; note "round.$DLAUNCH_ROUND.$RANK"
until [ -e "$SEEN/go" ] || [ -e "$SEEN/go.$RANK" ]; do sleep 0.01; done
[ -e "$SEEN/status.$RANK" ] && [ $TORCHELASTIC_RESTART_COUNT = 0 ] && exit "$(cat "$SEEN/status.$RANK")"
exit 0
"""


@pytest.fixture
def job(start, shell_worker):
    """job(*options) -> run of one `ps` and two `worker`s that are there."""

    def job_(*options):
        run = start(*options, shell_worker(WORK, "ps"), ":", "-n", 2, shell_worker(WORK, "worker"))
        run.ready(3)
        return run

    return job_


@pytest.mark.parametrize("rank, role, status", [(0, "ps", 9), (2, "worker", 4)])
def test_a_failure_of_any_program_ends_the_job_with_its_status(job, seen, rank, role, status):
    run = job("--no-python")
    (seen / f"status.{rank}").write_text(str(status))
    run.go(f"go.{rank}")
    result = run.wait()
    assert result.rc == status and f"rank {rank} " in result.first_line and f"role:          {role}\n" in result.err


def test_a_restart_starts_all_programs(job, seen):
    run = job("--max-restarts=1", "--no-python")
    (seen / "status.2").write_text("4")
    run.go("go.2")
    until(lambda: (seen / "round.1.0").exists() and (seen / "round.1.1").exists(), 10, "the second round")
    run.go()
    assert run.wait().rc == 0


def test_a_program_that_ends_well_ends_nothing_else(job):
    run = job("--no-python")
    (ps,) = [pid for pid in run.ready(3)[:1]]
    run.go("go.0")
    until(lambda: not os.path.exists(f"/proc/{ps}"), 5, "the end of the server")
    assert not run.ended() and len(run.ready(3)) == 3 and all(os.path.exists(f"/proc/{pid}") for pid in run.ready(3)[1:])
    run.go()
    assert run.wait().rc == 0


def test_a_signal_reaches_all_programs(job):
    run = job("--no-python")
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143
    run.nothing_left()


def test_a_program_that_is_missing_is_127(dlaunch):
    result = dlaunch("sleep", 60, ":", "no-such-program")
    assert result.rc == 127 and "rank 1" in result.first_line and "no-such-program" in result.first_line
