"""stderr is a full pipe without a reader and the agent is killed: the guard kills all that is left before it prints."""

import os
import signal
import time

from processes import until
from running import full_pipe, kill

DETACHES = """setsid sh -c 'echo $$ > $SEEN/child; exec sleep "$TEST_RUN_MARK"' </dev/null >/dev/null 2>&1 &
until [ -s $SEEN/child ]; do sleep 0.01; done
ready
"""


def test_a_detached_process_ends_at_once(start, shell_worker, seen):
    ends = full_pipe()
    run = start("--no-python", shell_worker(DETACHES + 'exec sleep "$TEST_RUN_MARK"\n'), stderr=ends[1])
    run.ready(1)
    child = int((seen / "child").read_text())
    kill(run.agent(), signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{child}"), 3, "the end of the detached process")
    assert run.wait(10).rc == 137
    for end in ends:
        os.close(end)


def test_a_signal_ends_the_wait_for_a_reader(start, shell_worker):
    ends = full_pipe()
    run = start("--no-python", shell_worker('ready\nexec sleep "$TEST_RUN_MARK"\n'), stderr=ends[1])
    (worker,) = run.ready(1)
    kill(run.agent(), signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{worker}"), 3, "the end of the worker")
    run.signal(signal.SIGTERM)
    begun = time.monotonic()
    assert run.wait(10).rc == 137 and time.monotonic() - begun < 2
    for end in ends:
        os.close(end)


def test_a_late_reader_gets_the_line(start, shell_worker, seen):
    reader, writer = full_pipe()
    run = start("--no-python", shell_worker(DETACHES + 'exec sleep "$TEST_RUN_MARK"\n'), stderr=writer)
    os.close(writer)
    run.ready(1)
    child = int((seen / "child").read_text())
    kill(run.agent(), signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{child}"), 3, "the end of the detached process")
    with open(reader, "rb") as pipe:
        assert b"was killed by signal 9" in pipe.read()
    assert run.wait(10).rc == 137
