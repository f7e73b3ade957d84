"""The reader of dlaunch's stdout is gone: the job runs to its end."""

import os

import pytest

FLOOD = (
    "try:\n    for n in range(20000): os.write(1, b'a line without a reader\\n')\nfinally: note(f'over.{rank}', n)\n"
)


@pytest.mark.parametrize("options", [[], ["-t", "3", "--log-dir=logs"]], ids=["plain", "tee"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_job_goes_on(start, python_worker, seen, options, workers):
    reader, writer = os.pipe()
    os.close(reader)
    run = start(f"--nproc-per-node={workers}", *options, "--no-python", python_worker(FLOOD), stdout=writer)
    os.close(writer)
    result = run.wait(15)
    assert (
        result.rc == 0
        and {path.read_text() for path in seen.glob("over.*")} == {"19999"}
        and len(result.err.splitlines()) <= 1
    )


def test_head_in_a_pipeline(start, python_worker, seen, binary):
    line = f"'{binary}' --nproc-per-node=2 --no-python '{python_worker(FLOOD)}' | head -n 3; echo ${{PIPESTATUS[0]}}"
    result = start("-c", line, program="bash").wait(15)
    assert result.out.splitlines() == ["a line without a reader"] * 3 + ["0"]
    assert {path.read_text() for path in seen.glob("over.*")} == {"19999"}
