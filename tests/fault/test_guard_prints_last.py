"""stderr is a full pipe without a reader and the agent is killed: the guard kills all that is left before it prints."""

import os
import signal

from processes import until
from running import kill

DETACHES = """setsid sh -c 'echo $$ > $SEEN/child; exec sleep "$TEST_RUN_MARK"' </dev/null >/dev/null 2>&1 &
until [ -s $SEEN/child ]; do sleep 0.01; done
ready
"""


def full_pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer


def test_what_a_worker_detached_ends_at_once(start, shell_worker, seen):
    ends = full_pipe()
    run = start("--no-python", shell_worker(DETACHES + 'exec sleep "$TEST_RUN_MARK"\n'), stderr=ends[1])
    run.ready(1)
    child = int((seen / "child").read_text())
    kill(run.agent(), signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{child}"), 3, "the end of the detached process")
    assert run.wait(10).rc == 137
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
