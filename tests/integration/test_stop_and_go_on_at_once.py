"""SIGCONT while dlaunch collects the signals of one request, stops the workers or itself: the job goes on."""

import os
import signal
import time

from processes import children, state, until
from workers import STAY

IN_A_GROUP = ["bash", "-c", 'set -m; "$0" "$@" & wait -f $!']  # not orphaned: SIGTSTP stops it


def test_the_later_signal_counts(start, shell_worker):
    run = start("--nproc-per-node=2", "--no-python", shell_worker(STAY), prefix=IN_A_GROUP)
    workers = [int(pid) for pid in run.ready(2)]
    guard = children(run.pid)[0]
    for count in range(150):  # a millisecond is for signals of one request, what follows stops workers and guard
        os.kill(guard, signal.SIGTSTP)
        time.sleep(count * 0.000015)
        os.kill(guard, signal.SIGCONT)
        time.sleep(0.01)  # the guard may stop itself later than that, never earlier
        until(lambda: not any(state(pid) == "T" for pid in (guard, *workers)), 2, f"what follows SIGCONT {count}")
    os.kill(guard, signal.SIGTERM)
    run.wait(10)
    run.nothing_left()
