"""Stop signal and grace apply to a worker's whole process group: a child may still save after its script has died."""

import signal

from processes import until

CHILD = """
trap 'sleep 0.5; echo saved > "$FOLDER/saved.$RANK"; exit 0' TERM
echo ready > "$FOLDER/ready.$RANK"
while :; do sleep 0.05; done
"""


def test_a_scripts_child_may_finish(start, script, tmp_path):
    child = script("child", "#!/bin/sh\n" + CHILD)
    worker = script("worker", f"#!/bin/sh\n{child}\necho never\n")
    run = start("--nproc-per-node=2", "--grace=20", "--no-python", worker, env={"FOLDER": tmp_path})
    until(lambda: len(list(tmp_path.glob("ready.*"))) == 2, 10, "the workers' start")
    run.signal(signal.SIGTERM)
    result = run.wait(15)
    assert result.rc == 143 and len(list(tmp_path.glob("saved.*"))) == 2
    assert "left behind" not in result.err and result.seconds < 10


def test_the_grace_bounds_them(start, script, tmp_path):
    child = script("child", "#!/bin/sh\ntrap '' TERM\necho ready > \"$FOLDER/ready.$RANK\"\nwhile :; do sleep 0.05; done\n")
    worker = script("worker", f"#!/bin/sh\n{child}\necho never\n")
    run = start("--nproc-per-node=2", "--grace=0.5", "--no-python", worker, env={"FOLDER": tmp_path})
    until(lambda: len(list(tmp_path.glob("ready.*"))) == 2, 10, "the workers' start")
    run.signal(signal.SIGTERM)
    result = run.wait(10)
    assert result.rc == 143 and result.seconds < 8


def test_a_failing_workers_child_may_finish_too(start, script, tmp_path):
    child = script("child", "#!/bin/sh\n" + CHILD)
    worker = script("worker", f"#!/bin/sh\n{child} &\nuntil [ -e $FOLDER/ready.$RANK ]; do sleep 0.01; done\nexit 7\n")
    result = start("--grace=20", "--no-python", worker, env={"FOLDER": tmp_path}).wait(15)
    assert result.rc == 7 and (tmp_path / "saved.0").exists() and result.seconds < 10


def test_a_child_that_ignores_sigint_gets_the_next_signal(start, script, tmp_path):
    worker = script("worker", '#!/bin/sh\nsleep 600 &\ntouch $FOLDER/ready.$RANK\nexec sleep 600\n')
    run = start("--grace=20", "--no-python", worker, env={"FOLDER": tmp_path})
    until(lambda: (tmp_path / "ready.0").exists(), 10, "the worker's start")
    run.signal(signal.SIGINT)
    result = run.wait(10)
    assert result.rc == 130 and result.seconds < 8


def test_a_zombie_of_a_process_that_left_the_group_costs_no_grace(start, script, tmp_path):
    """SIGTERM ends the child; its parent, in a session of its own, never reaps it, and no SIGCHLD reaches the agent."""
    worker = script("worker", """#!/bin/sh
( sh -c 'sleep 600 & exec setsid sh -c "touch $FOLDER/left; exec sleep 600"' ) &
until [ -e $FOLDER/left ]; do sleep 0.01; done
exit 3
""")
    result = start("--grace=60", "--no-python", worker, env={"FOLDER": tmp_path}).wait(20)
    assert result.rc == 3 and result.seconds < 15
