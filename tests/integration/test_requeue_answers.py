"""--requeue: what scontrol answers decides on the line that dlaunch ends with. A script stands for scontrol."""

import signal

import pytest

from workers import STAY


SHOWN = r"printf 'JobId=7\n JobState={} Reason={}\n EndTime=2026-11-26T11:56:19\n PreemptTime=None\n'"
SHOW = f"[ $1 = requeue ] || {{{{ {SHOWN}; exit; }}}}; exit 0"


@pytest.mark.parametrize(
    "answer, line",
    [
        ("exit 0", "the job runs again later (scontrol requeue 7)"),
        ("echo 'Job is pending execution for job 7'; exit 1", "the job runs again later (it waits already)"),
        ("echo 'Access denied'; exit 1", "the job is not requeued: scontrol requeue 7 ended with 1: Access denied"),
        (SHOW.format("COMPLETING", "TimeLimit"), "the job runs again later (scontrol requeue 7)"),
        (SHOW.format("COMPLETING", "None"), "the job is not requeued: SLURM ends it for another reason than its time limit or a preemption"),
    ],
    ids=["taken", "waits already", "refused", "time limit", "cancelled"],
)
def test_the_answer_of_slurm(job, script, tmp_path, clean_environment, answer, line):
    folder = tmp_path / "slurm"
    folder.mkdir()
    script("slurm/scontrol", f"#!/bin/sh\n{answer}\n")
    env = {"SLURM_JOB_ID": "7", "PATH": f"{folder}:{clean_environment['PATH']}"}
    run = job("ready\n" + STAY, "--requeue", workers=1, env=env)
    run.ready(1)
    run.signal(signal.SIGTERM)
    result = run.wait()
    assert result.rc == 143 and f"dlaunch: {line}\n" in result.err, result.err
