"""No line is lost, split or mixed with another, however workers write."""

import re

import pytest

WRITER = r"""
for n in range(1000):
    os.write(1, b"rank %d line %d of a thousand\n" % (rank, n))
"""
HALVES = r"""
for n in range(20):
    for piece in (b"<%d" % rank, b":%d" % n, b">\n"):
        os.write(1, piece)
        os.sched_yield()
"""


@pytest.mark.parametrize("options", [["-t", "3"], []], ids=["tee", "plain"])
def test_32_writers_of_1000_lines(dlaunch, python_worker, options):
    result = dlaunch("--nproc-per-node=32", *options, "--no-python", python_worker(WRITER), timeout=60)
    lines = [
        re.fullmatch(r"(?:\[default(\d+)\]:)?rank (\d+) line (\d+) of a thousand", line)
        for line in result.out.splitlines()
    ]
    assert result.rc == 0 and all(lines) and len(lines) == 32_000
    assert all(m[1] in (m[2], None) and bool(m[1]) == bool(options) for m in lines)
    for rank in range(32):
        assert [int(m[3]) for m in lines if m[2] == str(rank)] == list(range(1000))


@pytest.mark.parametrize("options", [["-t", "1"], []], ids=["tee", "plain"])
def test_lines_written_in_pieces(dlaunch, python_worker, options):
    result = dlaunch("--nproc-per-node=4", *options, "--no-python", python_worker(HALVES))
    assert sorted(line.split(":", 1)[1] if options else line for line in result.out.splitlines()) == sorted(
        f"<{r}:{n}>" for r in range(4) for n in range(20)
    )


def test_a_line_of_many_megabytes(dlaunch, python_worker):
    worker = python_worker("sys.stdout.write('x' * 5_000_000 + '\\n' + 'short\\n' * 200)\n")
    result = dlaunch("--nproc-per-node=2", "-t", "1", "--no-python", worker)
    lines = result.out.splitlines()
    assert sorted(map(len, lines)) == [len("[default0]:short")] * 400 + [len("[default0]:") + 5_000_000] * 2
    assert all(line[11:] == "short" or set(line[11:]) == {"x"} for line in lines)


def test_a_last_line_without_an_end(dlaunch, shell_worker):
    result = dlaunch("--nproc-per-node=2", "-t", "1", "--no-python", shell_worker("printf 'no end %s' $RANK\n"))
    assert sorted(result.out.splitlines()) == ["[default0]:no end 0", "[default1]:no end 1"]


def test_bytes_pass_unchanged(dlaunch, python_worker):
    every = "os.write(1, bytes(b for b in range(256) if b != 10) + b'\\n')\n"
    assert dlaunch("--no-python", python_worker(every)).raw_out == bytes(b for b in range(256) if b != 10) + b"\n"
