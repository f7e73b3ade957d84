"""The report quotes the stderr tail of the failed worker."""

import pytest

from workers import IDLE


@pytest.mark.parametrize(
    "options",
    [[], ["-r", "3"], ["-t", "3"], ["--local-ranks-filter=0"]],
    ids=["plain", "redirected", "tee", "filtered"],
)
def test_the_report_quotes_the_last_lines_that_are_not_on_the_console(job, options, tmp_path):
    log = [f"--log-dir={tmp_path}/logs"] if options[:1] in (["-r"], ["-t"]) else []
    run = job(
        "[ $RANK = 1 ] || exec sleep $TEST_RUN_MARK\nfor n in $(seq 1 50); do echo word $n. >&2; done\nexit 1\n",
        *options,
        *log,
    )
    report = run.wait().err.split("dlaunch: rank 1", 1)[1]
    quoted = [n for n in range(1, 51) if f"word {n}.\n" in report]
    is_shown = options in ([], ["-t", "3"])
    assert quoted == ([] if is_shown else list(range(51 - len(quoted), 51))), report
    assert is_shown or len(quoted) >= 7
    assert len(report.splitlines()) <= 12


def test_the_report_quotes_lines_that_other_output_has_pushed_away(job):
    run = job(
        "[ $RANK = 1 ] || { ready; await 1.ready; seq -f 'something else %.0f' 1000 >&2; touch $SEEN/end; exec sleep 100; }\n"
        "await 0.ready; echo the words of rank 1 >&2; ready; until [ -e $SEEN/end ]; do sleep 0.01; done; exit 1\n"
    )
    assert "the words of rank 1" in run.wait().err.split("dlaunch: rank 1", 1)[1]


def test_the_report_quotes_no_collateral_worker(job):
    run = job(
        "if [ $RANK = 1 ]; then await 0.ready; exit 1; fi\n"
        "trap 'echo a collateral line >&2; exit 1' TERM\nready\n" + IDLE
    )
    assert "collateral line" not in run.wait().err.split("dlaunch: rank 1", 1)[1]


def test_an_unfinished_line_is_quoted(job):
    assert "no newline" in job("printf 'no newline' >&2\nexit 1\n", "-r", "2", workers=1).wait().err


def test_control_characters_are_not_printed(job):
    err = job("printf 'red \\033[31m bell \\007 end\\n' >&2\nexit 1\n", "-r", "2", workers=1).wait().err
    assert "red" in err and "end" in err and "\033" not in err and "\007" not in err


def test_one_immense_line_is_cut(job):
    run = job("head -c 3000000 /dev/zero | tr '\\0' x >&2\nexit 1\n", "-r", "2", workers=1)
    result = run.wait()
    assert result.rc == 1 and "xxxxxxxx" in result.err and len(result.err) < 20_000
