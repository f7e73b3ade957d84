"""--max-restarts: one failure restarts the whole group; the budget is the job's."""

from logs import text_of
from workers import IDLE

COUNT = 'echo "$RANK" >> "$SEEN/round-$TORCHELASTIC_RESTART_COUNT"\n'


def rounds(seen):
    return {int(path.name.split("-")[1]): sorted(path.read_text().split()) for path in seen.glob("round-*")}


def test_one_failure_restarts_every_rank(job, seen):
    run = job(
        COUNT + "[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0\n[ $RANK = 2 ] && exit 1\nexec sleep $TEST_RUN_MARK\n",
        "--max-restarts=3",
        workers=3,
    )
    assert run.wait().rc == 0 and rounds(seen)[1] == ["0", "1", "2"] and set(rounds(seen)) == {0, 1}


def test_the_budget_is_spent_and_no_more(job, seen):
    assert job(COUNT + "exit 5\n", "--max-restarts=2", "--restart-backoff=0.01", workers=1).wait().rc == 5
    assert rounds(seen) == {0: ["0"], 1: ["0"], 2: ["0"]}


def test_success_spends_nothing(job, seen):
    assert job(COUNT, "--max-restarts=3", workers=1).wait().rc == 0 and rounds(seen) == {0: ["0"]}


def test_the_restart_reason_is_in_the_environment(job, seen):
    run = job(
        'note "why.$DLAUNCH_ROUND" "$DLAUNCH_RESTART_REASON"\n[ $DLAUNCH_ROUND = 1 ] || exit 11\n',
        "--max-restarts=1",
        workers=1,
    )
    assert run.wait().rc == 0
    assert (seen / "why.0").read_text() == "" and "rank 0" in (seen / "why.1").read_text()


def test_every_round_keeps_its_files(job, tmp_path):
    run = job(
        "echo round $DLAUNCH_ROUND\n[ $DLAUNCH_ROUND = 2 ]\n",
        "--max-restarts=2",
        "--restart-backoff=0.01",
        "-r",
        "1",
        f"--log-dir={tmp_path}/logs",
        workers=1,
    )
    assert run.wait().rc == 0
    assert [text_of(tmp_path / "logs", "stdout.log", 0, n) for n in range(4)] == [
        "round 0\n",
        "round 1\n",
        "round 2\n",
        None,
    ]


def test_no_worker_of_one_round_sees_one_of_the_next(job, seen):
    """Every worker keeps a file while it lives; the next round finds the folder empty."""
    run = job(
        'for old in "$SEEN"/alive.*; do [ -e "$old" ] && kill -0 "$(cat "$old")" 2>/dev/null && note met; done\n'
        'note "begun.$DLAUNCH_ROUND.$RANK"\nfor r in 0 1 2 3; do await "begun.$DLAUNCH_ROUND.$r"; done\n'
        'note "alive.$RANK" $$\n'
        '[ $DLAUNCH_ROUND = 2 ] && exit 0\n[ $RANK = 0 ] && exit 1\ntrap "sleep 0.05; exit 0" TERM\n' + IDLE,
        "--max-restarts=2",
        "--restart-backoff=0.01",
        workers=4,
    )
    assert run.wait().rc == 0 and not (seen / "met").exists()
