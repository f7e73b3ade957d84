"""Several tasks of a scheduler's step on one node: the first is the agent, and all end with its status."""

import os
import signal
from pathlib import Path

import pytest

from processes import alive, until

TASKS = 3
SHOW = 'note "$RANK.place" "$LOCAL_RANK $WORLD_SIZE $PPID"\n'


@pytest.fixture
def number():
    """A job's id of this test alone: abstract sockets are this machine's."""
    return 7000 + os.getpid() % 1000


@pytest.fixture
def connections(number):
    """connections() -> how many tasks are connected to the agent of the job's step."""
    name, listens = f"-slurm-{number}.3-0", "00010000"  # the last is in the fourth column

    def connections_():
        ends = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
        return sum(end[-1].endswith(name) and end[3] != listens for end in ends)

    return connections_


@pytest.fixture
def running(connections):
    """running(runs) waits until all workers run and all tasks wait for them."""

    def running_(runs):
        runs[0].ready(TASKS)
        until(lambda: connections() == TASKS - 1, 10, "the connections of the other tasks")

    return running_


@pytest.fixture
def tasks(start, shell_worker, number):
    """tasks(text, order=...) -> Running of each task, started in this order."""

    def tasks_(text, *options, order=range(TASKS)):
        program, runs = shell_worker(text), {}
        for task in order:
            place = {"SLURM_NODEID": 0, "SLURM_LOCALID": task, "SLURM_PROCID": task}
            step = {"SLURM_JOB_ID": number, "SLURM_STEP_ID": 3, "SLURM_STEP_NODELIST": "here", "SLURM_STEP_TASKS_PER_NODE": TASKS}
            runs[task] = start(*options, "--no-python", program, env={**step, **place})
        return [runs[task] for task in range(TASKS)]

    return tasks_


def ends(runs, status, seconds=20):
    results = [run.wait(seconds) for run in runs]
    assert [result.rc for result in results] == [status] * TASKS, [result.err for result in results]
    for run in runs:
        run.nothing_left(1)
    return results


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]], ids=["agent first", "agent last"])
def test_the_job_has_a_worker_for_each_task(tasks, seen, order):
    ends(tasks(SHOW, order=order), 0)
    places = [path.read_text().split() for path in sorted(seen.glob("*.place"))]
    assert [place[:2] for place in places] == [["0", "3"], ["1", "3"], ["2", "3"]] and len({place[2] for place in places}) == 1


def test_all_end_with_the_status_of_the_job_and_one_reports(tasks):
    results = ends(tasks("[ $RANK != 1 ] || exit 7\nexec sleep $TEST_RUN_MARK\n"), 7)
    assert "rank 1" in results[0].err and [result.err for result in results[1:]] == ["", ""]


def test_a_usage_error_is_printed_once(tasks):
    results = ends(tasks("exit 0\n", "--nproc-per-node=x"), 2)
    assert "expected" in results[0].err and [result.err for result in results[1:]] == ["", ""]


@pytest.mark.parametrize("which", ["guard", "agent"])
def test_a_killed_agent_ends_all_tasks(tasks, running, which):
    runs = tasks("ready\nexec sleep $TEST_RUN_MARK\n")
    running(runs)
    os.kill(runs[0].pid if which == "guard" else runs[0].agent(), signal.SIGKILL)
    for run in runs[1:]:
        assert run.wait(10).rc == 137
    assert runs[0].wait(10).rc in (137, -signal.SIGKILL)
    for run in runs:
        run.nothing_left(5)


def test_a_signal_to_every_task_ends_the_job_after_its_grace(tasks, running, seen):
    runs = tasks("trap 'note $RANK.saved; exit 0' TERM\nready\nwhile :; do sleep 0.05; done\n")
    running(runs)
    for run in runs:
        run.signal(signal.SIGTERM)
    ends(runs, 143)
    assert len(list(seen.glob("*.saved"))) == TASKS


def test_a_task_waits_for_a_job_that_a_signal_has_not_reached(tasks, running):
    runs = tasks("ready\nawait go\n")
    running(runs)
    runs[1].signal(signal.SIGTERM)
    runs[0].go()
    ends(runs, 0)


def test_a_second_signal_ends_a_waiting_task(tasks, running):
    runs = tasks("ready\nawait go\n")
    running(runs)
    waiting = runs[1]
    until(lambda: [waiting.signal(signal.SIGTERM) if alive(waiting.pid) else None, waiting.ended()][1], 10, "its end")
    assert waiting.wait().rc == 143
    runs[0].go()
    assert [runs[0].wait().rc, runs[2].wait().rc] == [0, 0]


def test_runs_of_a_script_in_all_tasks_follow_each_other(script, start, binary, number):
    """A task may begin its next run before the guard of the last one has exited."""
    runs = 8
    text = f"#!/bin/sh\nfor status in $(seq {runs}); do {binary} sh -c \"exit $status\" 2>/dev/null; echo $?; done\n"
    step = {"SLURM_JOB_ID": number, "SLURM_STEP_ID": 3, "SLURM_STEP_NODELIST": "here", "SLURM_STEP_TASKS_PER_NODE": TASKS}
    places = [{"SLURM_NODEID": 0, "SLURM_LOCALID": task, "SLURM_PROCID": task} for task in range(TASKS)]
    steps = script("steps.sh", text)
    tasks = [start(program=steps, env={**step, **place}) for place in places]
    assert [task.wait(40).out.split() for task in tasks] == [[str(status) for status in range(1, runs + 1)]] * TASKS
