"""dlaunch exits with the failed worker's exit status, for every status."""

import pytest


@pytest.mark.parametrize("first", range(0, 256, 32))
def test_every_status_there_is(start, first):
    runs = {code: start("--no-python", "sh", "-c", f"exit {code}") for code in range(first, first + 32)}
    assert {code: run.wait().rc for code, run in runs.items()} == {code: code for code in runs}


def test_the_first_failure_decides(job):
    run = job(
        "if [ $RANK = 1 ]; then await 0.ready; exit 7; fi\ntrap 'exit 9' TERM\nready\nwhile :; do sleep 0.01; done\n"
    )
    assert run.wait().rc == 7


def test_the_last_round_decides(dlaunch):
    assert dlaunch("--max-restarts=1", "--no-python", "sh", "-c", "exit $((20 + TORCHELASTIC_RESTART_COUNT))").rc == 21


def test_a_success_does_not_hide_a_failure(job):
    run = job("if [ $RANK = 1 ]; then await over; exit 5; fi\nnote over\n")
    assert run.wait().rc == 5
