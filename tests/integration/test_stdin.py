"""Which workers get dlaunch's standard input."""

import pytest

READ = 'echo "$RANK read $(cat | tr "\\n" ,)"\n'


def test_a_single_worker_reads_dlaunchs_stdin(dlaunch, shell_worker):
    assert dlaunch("--no-python", shell_worker(READ), stdin="a\nb\n").out == "0 read a,b,\n"


def test_several_workers_read_nothing(dlaunch, shell_worker):
    assert sorted(dlaunch("--nproc-per-node=2", "--no-python", shell_worker(READ), stdin="a\n").out.splitlines()) == [
        "0 read ",
        "1 read ",
    ]


def test_none(dlaunch, shell_worker):
    assert dlaunch("--stdin=none", "--no-python", shell_worker(READ), stdin="a\n").out == "0 read \n"


@pytest.mark.parametrize("rank", [0, 2])
def test_one_rank(dlaunch, shell_worker, rank):
    result = dlaunch("--nproc-per-node=3", f"--stdin={rank}", "--no-python", shell_worker(READ), stdin="a\nb\n")
    assert sorted(result.out.splitlines()) == [f"{r} read {'a,b,' if r == rank else ''}" for r in range(3)]


def test_all_read_the_same(dlaunch, shell_worker):
    result = dlaunch("--nproc-per-node=3", "--stdin=all", "--no-python", shell_worker(READ), stdin="a\nb\n")
    assert sorted(result.out.splitlines()) == [f"{rank} read a,b," for rank in range(3)]


def test_the_rest_is_for_the_next_round(dlaunch, script):
    worker = script("reader", '#!/bin/sh\nread line; echo "$RANK $line"; [ $RANK = 1 ] && exit 3; exec sleep 600\n')
    result = dlaunch("--stdin=all", "--max-restarts=1", "--nproc-per-node=2", "--no-python", worker, stdin="one\ntwo\n")
    line = "dlaunch: --stdin=all: the workers of this round read what earlier rounds left of standard input"
    assert result.rc == 3 and result.err.splitlines().count(line) == 1, result.err


def test_much_for_all(dlaunch, shell_worker):
    text = b"".join(b"line %d\n" % n for n in range(100_000))
    result = dlaunch("--nproc-per-node=3", "--stdin=all", "--no-python", shell_worker("wc -c\n"), stdin=text)
    assert result.out.split() == [str(len(text))] * 3


def test_a_reader_that_ends_early_does_not_affect_the_others(dlaunch, shell_worker):
    text = b"".join(b"line %d\n" % n for n in range(100_000))
    result = dlaunch(
        "--nproc-per-node=2", "--stdin=all", "--no-python", shell_worker("[ $RANK = 0 ] && exit 0\nwc -c\n"), stdin=text
    )
    assert result.rc == 0 and result.out.split() == [str(len(text))]


def test_a_missing_rank_is_refused(dlaunch):
    result = dlaunch("--nproc-per-node=2", "--stdin=2", "--no-python", "true")
    assert result.rc == 2 and "--stdin=2" in result.first_line


@pytest.mark.parametrize("mode", ["all", "0", "none"])
@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "closed"])
def test_devices_that_are_always_ready(dlaunch, binary, shell_worker, mode, device):
    source = "<&-" if device == "closed" else f"<{device}"
    words = f"'{binary}' --nproc-per-node=2 --stdin={mode} --no-python '{shell_worker('head -c 3 | wc -c')}' {source}"
    result = dlaunch("-c", words, program="bash")
    readers = {"all": 2, "0": 1, "none": 0}[mode] if device == "/dev/zero" else 0
    assert result.rc == 0 and sorted(result.out.split()) == sorted(["3"] * readers + ["0"] * (2 - readers))
