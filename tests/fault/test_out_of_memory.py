"""The kernel's OOM killer ends a worker: the report names the cause, not only SIGKILL."""

import json
import os
import random
import signal
from pathlib import Path

import pytest

from processes import until

V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
GREEDY = """ready()
if rank == 1:
    await_note("go")
    kept = [bytearray(b"x" * (4 << 20)) for _ in range(200)]
time.sleep(600)
"""


@pytest.fixture
def little_memory():
    """The cgroup.procs file of a cgroup with 300 MiB for the whole job."""
    root, limit = (V1, "memory.limit_in_bytes") if (V1 / "memory.limit_in_bytes").exists() else (V2, "memory.max")
    folder = root / f"dlaunch-test-{random.getrandbits(32):x}"
    try:
        folder.mkdir()
        (folder / limit).write_text(str(300 << 20))
    except OSError as error:
        if folder.exists():
            folder.rmdir()
        pytest.skip(f"no memory cgroup can be made: {error}")
    yield folder / "cgroup.procs"
    for pid in (folder / "cgroup.procs").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    until(lambda: not (folder / "cgroup.procs").read_text(), 5, "the end of the group's processes")
    folder.rmdir()


def test_the_report_names_the_lack_of_memory(start, python_worker, little_memory, tmp_path):
    run = start(
        "--nproc-per-node=2",
        "--grace=1",
        f"--report={tmp_path}/report.json",
        "--no-python",
        python_worker(GREEDY),
        prefix=("sh", "-c", f'echo $$ > {little_memory} && exec "$@"', "sh"),
    )
    run.ready(2)
    run.go()
    result = run.wait(20)
    assert result.rc == 137 and "rank 1" in result.first_line and "memory" in result.first_line
    cause = json.loads((tmp_path / "report.json").read_text())["failures"][0]
    assert cause["out_of_memory"] in ("likely", "certain")


def test_an_ordinary_kill_is_no_lack_of_memory(job):
    result = job('[ $RANK = 1 ] && kill -KILL $$\nexec sleep "$TEST_RUN_MARK"\n').wait()
    assert result.rc == 137 and "SIGKILL" in result.first_line and "memory" not in result.first_line
