"""The first exit with a failure is the cause; workers stopped afterwards are collateral."""

import json
import re

import pytest

from workers import STAY

CHAIN = """
def dead(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True
if rank != FIRST:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await_note("FIRST.ready")
    first = int(open(f"{os.environ['SEEN']}/FIRST.ready").read())
    while not dead(first):
        pass
    os._exit(50 + rank)
ready()
os._exit(42)
"""


@pytest.mark.parametrize("first", [0, 3])
def test_collateral_failures_follow_the_cause(dlaunch, python_worker, tmp_path, first):
    worker = python_worker(CHAIN.replace("FIRST", str(first)))
    result = dlaunch("--nproc-per-node=4", f"--report={tmp_path}/report.json", "--no-python", worker)
    report = json.loads((tmp_path / "report.json").read_text())
    assert result.rc == 42 and f"rank {first} " in result.first_line and "exited with 42" in result.first_line
    assert report["failures"][0]["rank"] == first and report["failures"][0]["victim"] is False


def test_the_clock_in_an_error_file_does_not_matter(job):
    run = job("""if [ $RANK = 1 ]; then
    await 0.ready
    echo '{"message": "the cause", "timestamp": 2000000000}' > "$TORCHELASTIC_ERROR_FILE"
    exit 41
fi
trap 'echo "{\\"message\\": \\"collateral\\", \\"timestamp\\": 1}" > "$TORCHELASTIC_ERROR_FILE"; exit 42' TERM
ready
while :; do sleep 0.01; done
""")
    result = run.wait()
    assert result.rc == 41 and "the cause" in result.err and "collateral" not in result.err.split("the cause")[0]


def test_stopped_workers_are_distinguished(job):
    run = job(
        "if [ $RANK = 2 ]; then for r in 0 1 3; do await $r.ready; done; exit 9; fi\n" + STAY,
        workers=4,
    )
    result = run.wait()
    assert "rank 2" in result.first_line and "SIGTERM" not in result.first_line
    assert [
        line for line in result.err.splitlines() if "0-1, 3" in line or "0, 1, 3" in line or "0,1,3" in line
    ], result.err


def test_the_first_line_with_a_rank_names_the_cause(job):
    result = job("if [ $RANK = 1 ]; then await 0.ready; exit 9; fi\nready\nexec sleep $TEST_RUN_MARK\n").wait()
    first = next(line for line in result.err.splitlines() if re.search(r"\brank\W*\d", line))
    assert first.startswith("dlaunch: rank 1 ") and len(first) <= 100
