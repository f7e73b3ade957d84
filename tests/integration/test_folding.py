"""--fold: a line that several ranks print is shown once."""

import functools
import re


def shown(result):
    """The lines of the console, each split into prefix and text."""
    return [re.fullmatch(r"(\[[^]]*\]:? ?)?(.*)", line).groups() for line in result.out.splitlines()]


@functools.cache
def ranks_of(prefix):
    """The ranks of a prefix such as "[default0-1,3]:"."""
    spans = [span.split("-") for span in re.search(r"[0-9,-]+", prefix)[0].split(",")]
    return {rank for span in spans for rank in range(int(span[0]), int(span[-1]) + 1)}


TOGETHER = 'note here.$RANK; for rank in 0 1 2 3; do await here.$rank; done\n'  # only lines that arrive at about the same time are folded


def test_equal_lines_of_all_ranks(dlaunch, shell_worker):
    lines = shown(
        dlaunch("--nproc-per-node=4", "-t", "1", "--fold", "--no-python", shell_worker(f"{TOGETHER}echo loading the model\n"))
    )
    assert [text for _, text in lines] == ["loading the model"] and re.search(r"0-3", lines[0][0])


def test_different_lines_do_not_prevent_folding_of_equal_ones(dlaunch, shell_worker):
    worker = shell_worker(f"{TOGETHER}echo begin\necho mine is $RANK\necho end\n")
    lines = shown(dlaunch("--nproc-per-node=4", "-t", "1", "--fold", "--no-python", worker))
    begin, *mine, end = lines
    assert (begin[1], end[1]) == ("begin", "end") and all(re.search(r"0-3", prefix) for prefix, _ in (begin, end))
    assert sorted(text for _, text in mine) == [f"mine is {rank}" for rank in range(4)]


def test_a_rank_that_prints_nothing_holds_nothing_back_for_long(dlaunch, shell_worker, seen):
    worker = shell_worker("[ $RANK = 0 ] || { echo early; exit; }\nuntil grep -q early $SEEN/out; do :; done\n")
    with (seen / "out").open("wb") as out:
        assert dlaunch("--nproc-per-node=3", "-t", "1", "--fold", "--no-python", worker, stdout=out).rc == 0
    assert (seen / "out").read_text() == "[default1-2]:early\n"


def test_a_flood_is_folded_and_every_rank_keeps_its_order(dlaunch, shell_worker):
    """More lines than the buffer of waiting lines holds, from ranks that start at different times."""
    worker = shell_worker("seq 200000\necho mine is $RANK\nseq 200000\n")
    lines = shown(dlaunch("--nproc-per-node=3", "-t", "1", "--fold", "--no-python", worker))
    numbers = [str(n) for n in range(1, 200001)]
    for rank in range(3):
        own = [text for prefix, text in lines if rank in ranks_of(prefix)]
        assert own == [*numbers, f"mine is {rank}", *numbers]
    assert len(lines) < 800_000, "400 003, unless the machine kept a rank from running; 1 200 003 are printed"


def test_files_have_them_all(dlaunch, shell_worker, tmp_path):
    dlaunch(
        "--nproc-per-node=3",
        "-t",
        "1",
        "--fold",
        f"--log-dir={tmp_path}/logs",
        "--no-python",
        shell_worker("echo alike\n"),
    )
    assert [(tmp_path / f"logs/latest/attempt_0/{rank}/stdout.log").read_text() for rank in range(3)] == ["alike\n"] * 3


def test_one_rank_keeps_its_order(dlaunch, shell_worker):
    lines = shown(
        dlaunch(
            "--nproc-per-node=2",
            "-t",
            "1",
            "--fold",
            "--no-python",
            shell_worker("for n in 1 2 3 4 5; do echo step $n; done\n"),
        )
    )
    assert [text for _, text in lines] == [f"step {n}" for n in range(1, 6)]


def test_bars_of_several_ranks_are_a_line_each_now_and_then(dlaunch, shell_worker):
    text = r"""{together}n=0
while [ $n -lt 40 ]; do n=$((n + 1)); printf "\rrank $RANK: $n/40" >&2; done
echo >&2
""".format(together=TOGETHER)
    result = dlaunch("--nproc-per-node=4", "-t", "2", "--fold", "--no-python", shell_worker(text))
    lines = result.err.splitlines()
    assert "\r" not in result.err and len(lines) <= 4 * (2 + result.seconds), result.err
    for rank in range(4):
        assert [line for line in lines if line.endswith(f"]:rank {rank}: 40/40")], result.err
