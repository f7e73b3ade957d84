"""The simplest job: every rank runs once."""

import pytest


@pytest.mark.parametrize("workers", [1, 4, 256])
def test_every_rank_touches_its_file(dlaunch, shell_worker, seen, workers):
    result = dlaunch(
        "--standalone",
        f"--nproc-per-node={workers}",
        "--no-python",
        shell_worker('echo once >> "$SEEN/touched.$RANK"\n'),
    )
    assert result.rc == 0 and result.err == ""
    assert {p.name: p.read_text() for p in seen.iterdir()} == {f"touched.{rank}": "once\n" for rank in range(workers)}


def test_without_any_flag_there_is_one_worker(dlaunch, shell_worker):
    assert tuple(dlaunch(shell_worker("echo $RANK of $WORLD_SIZE\n"))) == (0, "0 of 1\n", "")


def test_a_python_script_runs_unbuffered(dlaunch, script):
    program = script("program.py", "import sys\nprint(sys.argv[1:], sys.stdout.write_through)\n")
    assert dlaunch(program, "--nproc-per-node=9", "--", "x").out == "['--nproc-per-node=9', '--', 'x'] True\n"
