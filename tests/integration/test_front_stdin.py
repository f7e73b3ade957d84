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


def test_a_missing_rank_is_refused(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a:1,b:1", "--stdin=2", *CAT)
    assert (result.rc, result.err) == (2, "dlaunch: --stdin=2: expected a rank below 2, the number of workers\n")


ABC = ["--launcher=fork", "--hosts=a,b,c"]
MUCH = b"0123456789abcde\n" * 100_000


@pytest.mark.parametrize("leaves", ["exit 0", "exec <&-; note closed; await read.0; await read.2; exit 0"])
def test_a_host_that_reads_no_more_does_not_hold_back_the_others(dlaunch, shell_worker, leaves):
    worker = shell_worker(f'[ $RANK = 1 ] && {{ {leaves}; }}\nwc -c\nnote read.$RANK\n')
    result = dlaunch(*ABC, "--stdin=all", "--no-python", worker, stdin=MUCH)
    assert result.rc == 0 and result.out.split() == [str(len(MUCH))] * 2


def test_a_killed_host_does_not_hold_back_the_others(dlaunch, shell_worker):
    """Its workers do not read, so that its window is full."""
    worker = shell_worker('if [ $RANK = 1 ]; then\nawait begun.0\nkill -9 $PPID\nexec sleep "$TEST_RUN_MARK"\nfi\n'
                          'head -c 1000 >/dev/null\nnote begun.$RANK\n[ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0\n'
                          'wc -c >/dev/null\n')
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--nnodes=1:2", "--max-restarts=1", "--stdin=all", "--no-python",
                     worker, stdin=MUCH)
    assert result.rc == 0


def test_nodes_that_count_their_workers_do_not_hold_back_the_reader(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--nproc-per-node=cpu", "--stdin=0", "--no-python", "sh", "-c",
                     "[ $RANK != 0 ] || wc -c", stdin=MUCH)
    assert (result.rc, result.out) == (0, f"{len(MUCH)}\n")


def test_the_rest_is_for_the_next_round(dlaunch):
    """Each line is read byte by byte, so that the first round leaves the second line in the pipe."""
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--stdin=1", "--max-restarts=1", "--no-python", "sh", "-c",
                     '[ $RANK = 1 ] || exit 0; read -r a; echo "got $a"; exit $((1 - TORCHELASTIC_RESTART_COUNT))',
                     stdin="one\ntwo\n")
    assert (result.rc, result.out) == (0, "got one\ngot two\n")


@pytest.mark.parametrize("mode", ["all", "1", "none"])
@pytest.mark.parametrize("source", ["</dev/null", "</dev/zero", "<&-", "</"])
def test_input_that_is_always_ready(dlaunch, binary, mode, source):
    words = (f"'{binary}' --launcher=fork --hosts=a,b --stdin={mode} --no-python "
             f"sh -c 'head -c 3 2>&1 | wc -c' {source}")
    result = dlaunch("-c", words, program="bash")
    readers = {"all": 2, "1": 1, "none": 0}[mode] if source == "</dev/zero" else 0
    assert result.rc == 0 and sorted(result.out.split()) == sorted(["3"] * readers + ["0"] * (2 - readers))
