"""Standard input of the front end reaches the worker that reads it, on whichever host."""

import pytest

CAT = ["--no-python", "sh", "-c", 'cat | sed "s/^/$RANK:/"']
TEXT = "".join(f"line {n}\n" for n in range(50_000))


def test_a_single_worker_reads_it(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a", *CAT, stdin=TEXT)
    assert (result.rc, result.out) == (0, TEXT.replace("line", "0:line"))


def test_several_workers_read_none(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b", *CAT, stdin="text\n")
    assert (result.rc, result.out) == (0, "")


@pytest.mark.parametrize("rank", [0, 2])
def test_the_named_rank_reads_it(dlaunch, rank):
    result = dlaunch("--launcher=fork", "--hosts=a:2,b:2", f"--stdin={rank}", *CAT, stdin=TEXT)
    assert (result.rc, result.out) == (0, TEXT.replace("line", f"{rank}:line"))


def test_all_read_it(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--stdin=all", *CAT, stdin="text\n")
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0:text", "1:text"]
