"""A second Ctrl-C ends the grace."""

import signal

import pytest

from processes import until
from workers import STUBBORN


@pytest.mark.parametrize("first,second", [("SIGINT", "SIGINT"), ("SIGTERM", "SIGINT"), ("SIGTERM", "SIGTERM")])
def test_it_kills_at_once(job, first, second):
    run = job(STUBBORN, "--grace=600")
    run.ready(2)
    run.signal(signal.Signals[first])
    until(lambda: first in run.err(), 5, "the message about the first signal")
    run.signal_again(signal.Signals[second])
    result = run.wait(5)
    assert result.rc in (128 + signal.Signals[first], 128 + signal.Signals[second])
    assert result.err.count("killing") == 1
    run.nothing_left()


def test_the_first_announces_the_effect_of_the_second(job):
    run = job(STUBBORN, "--grace=600")
    run.ready(2)
    run.signal(signal.SIGINT)
    until(lambda: "second" in run.err(), 5, "the message about a second signal")
    run.signal_again(signal.SIGINT)
    assert run.wait(5).rc == 130
