"""-r and -t: every combination, for both streams, on the console and in the files."""

import pytest

from logs import text_of

SAY = "echo out $RANK\necho err $RANK >&2\n"


def console(stream, redirects, tee, ranks=(0, 1)):
    word = {1: "out", 2: "err"}[stream]
    if tee & stream:
        return {f"[default{rank}]:{word} {rank}" for rank in ranks}
    return set() if redirects & stream else {f"{word} {rank}" for rank in ranks}


@pytest.mark.parametrize("tee", range(4))
@pytest.mark.parametrize("redirects", range(4))
def test_one_setting_for_all_ranks(dlaunch, shell_worker, tmp_path, redirects, tee):
    logs = tmp_path / "logs"
    result = dlaunch(
        "--nproc-per-node=2", "-r", redirects, "-t", tee, f"--log-dir={logs}", "--no-python", shell_worker(SAY)
    )
    assert (result.rc, set(result.out.splitlines()), set(result.err.splitlines())) == (
        0,
        console(1, redirects, tee),
        console(2, redirects, tee),
    )
    for stream, name, word in ((1, "stdout.log", "out"), (2, "stderr.log", "err")):
        for rank in range(2):
            assert text_of(logs, name, rank) == (f"{word} {rank}\n" if (redirects | tee) & stream else None)


def test_each_rank_its_own(dlaunch, shell_worker, tmp_path):
    logs = tmp_path / "logs"
    result = dlaunch(
        "--nproc-per-node=12",
        "--redirects=0:3,11:1",
        "--tee=1:1,10:3",
        f"--log-dir={logs}",
        "--no-python",
        shell_worker(SAY),
    )
    plain = set(range(12)) - {0, 1, 10, 11}
    assert set(result.out.splitlines()) == {f"out {rank}" for rank in plain} | {
        "[default1]:out 1",
        "[default10]:out 10",
    }
    assert set(result.err.splitlines()) == {f"err {rank}" for rank in plain | {1, 11}} | {"[default10]:err 10"}
    assert [text_of(logs, "stdout.log", rank) for rank in (0, 1, 2, 10, 11)] == [
        "out 0\n",
        "out 1\n",
        None,
        "out 10\n",
        "out 11\n",
    ]
    assert [text_of(logs, "stderr.log", rank) for rank in (0, 1, 2, 10, 11)] == [
        "err 0\n",
        None,
        None,
        "err 10\n",
        None,
    ]


def test_the_filter_is_for_the_console_only(dlaunch, shell_worker, tmp_path):
    logs = tmp_path / "logs"
    result = dlaunch(
        "--nproc-per-node=3", "-t", "1", "--local-ranks-filter=1", f"--log-dir={logs}", "--no-python", shell_worker(SAY)
    )
    assert result.out == "[default1]:out 1\n" and result.err == "err 1\n"
    assert [text_of(logs, "stdout.log", rank) for rank in range(3)] == ["out 0\n", "out 1\n", "out 2\n"]


def test_matching_lines_of_all_ranks_are_copied(dlaunch, shell_worker, tmp_path):
    logs = tmp_path / "logs"
    worker = shell_worker("echo loss $RANK\necho other\necho 'a, comma'\n")
    dlaunch(
        "--nproc-per-node=2",
        "-t",
        "1",
        "--duplicate-stdout-filters=loss,a,, comma",
        f"--log-dir={logs}",
        "--no-python",
        worker,
    )
    lines = sorted(next(logs.glob("*/attempt_0/filtered_stdout.log")).read_text().splitlines())
    assert lines == ["[default0]:a, comma", "[default0]:loss 0", "[default1]:a, comma", "[default1]:loss 1"]
