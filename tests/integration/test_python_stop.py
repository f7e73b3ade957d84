"""The Python module's on_stop: the callback runs at once when the job is stopped, whatever the main thread does."""

import signal
import subprocess
import sys

import pytest

from packages import USES_MODULE

# ctypes calls C's pause() without the interpreter in between, as a collective waits.
BLOCKED = """
import ctypes, os, sys
import dlaunch

def save():
    print("saved by", os.environ["RANK"], dlaunch.is_stopping(), flush=True)
    os._exit(0)

assert not dlaunch.is_stopping()
dlaunch.on_stop(save)
note = os.environ["SEEN"] + "/" + os.environ["RANK"]
open(note + ".part", "w").write(str(os.getpid()))
os.rename(note + ".part", note + ".ready")
while True:
    ctypes.CDLL(None).poll(None, 0, -1)
"""


@pytest.mark.parametrize("options", [[], ["--stop-signal=USR2"], ["--stop-signal=RTMIN+2"]])
def test_a_main_thread_that_waits_in_c_code(start, script, options):
    run = start("-n", "2", *options, "--grace=20", script("train.py", BLOCKED), env=USES_MODULE)
    run.ready(2)
    run.signal(signal.SIGTERM)
    result = run.wait()
    assert sorted(result.out.splitlines()) == ["saved by 0 True", "saved by 1 True"], result.err
    assert result.seconds < 15


def python(text):
    """The program's end and output, without a launcher."""
    text = f"import dlaunch, os, signal, sys, threading\nme = os.getpid()\ndone = threading.Event()\n{text}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=USES_MODULE, timeout=30)


def test_it_is_called_once_and_the_program_goes_on():
    text = """
calls = []
dlaunch.on_stop(lambda: (calls.append(threading.current_thread() is threading.main_thread()), done.set()))
for _ in range(3): os.kill(me, signal.SIGTERM)
done.wait(); print(calls, dlaunch.is_stopping())"""
    assert python(text).stdout == "[False] True\n"


def test_none_restores_the_default():
    assert python("dlaunch.on_stop(print); dlaunch.on_stop(None); os.kill(me, signal.SIGTERM)").returncode == -signal.SIGTERM


def test_an_exception_is_printed():
    done = python("dlaunch.on_stop(lambda: done.set() or 1 / 0); os.kill(me, signal.SIGTERM); done.wait()\nfor each in threading.enumerate():\n    each is threading.current_thread() or each.join()")
    assert done.returncode == 0 and "the callback of on_stop() raised" in done.stderr and "ZeroDivisionError" in done.stderr


def test_a_fork_starts_with_the_default_and_may_have_its_own():
    text = """
dlaunch.on_stop(lambda: os._exit(9))
def child(run):
    if (pid := os.fork()) == 0: run(); os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def own():
    dlaunch.on_stop(lambda: os._exit(5)); os.kill(os.getpid(), signal.SIGTERM); done.wait()
print(child(lambda: os.kill(os.getpid(), signal.SIGTERM)), child(own), flush=True)
os.kill(me, signal.SIGTERM); done.wait()"""
    result = python(text)
    assert (result.stdout, result.returncode) == ("-15 5\n", 9), result.stderr


def test_another_owner_of_the_wakeup_descriptor_keeps_it():
    text = """
ours, theirs = os.pipe(); os.set_blocking(theirs, False); signal.set_wakeup_fd(theirs)
dlaunch.on_stop(done.set); os.kill(me, signal.SIGTERM); done.wait()
print(os.read(ours, 9), signal.set_wakeup_fd(-1) == theirs)"""
    assert python(text).stdout == "b'\\x0f' True\n"


def test_other_signals_do_not_stop():
    text = """
signal.signal(signal.SIGUSR1, lambda *_: None); dlaunch.on_stop(done.set)
os.kill(me, signal.SIGUSR1); print(dlaunch.is_stopping(), done.wait(0.05))"""
    assert python(text).stdout == "False False\n"


def test_only_the_main_thread_may_call_it():
    done = python("each = threading.Thread(target=dlaunch.on_stop, args=(print,)); each.start(); each.join()")
    assert "RuntimeError: on_stop() was called in another thread, expected the main thread" in done.stderr
