"""A front end ends while its srun waits for nodes: srun receives SIGTERM, by which it withdraws its request."""

import os
import signal

import pytest

from processes import until

SRUN = """#!/bin/sh
trap 'touch srun.withdrawn; exit 0' TERM
touch srun.waits
while :; do sleep 0.05; done
"""


@pytest.fixture
def waiting(start, script, tmp_path, clean_environment):
    (tmp_path / "slurm").mkdir()
    script("slurm/srun", SRUN)
    env = {"PATH": f"{tmp_path}/slurm:{clean_environment['PATH']}"}

    def begin(*options):
        run = start("--launcher=srun", "--hosts=na,nb", *options, "true", env=env)
        until(lambda: (tmp_path / "srun.waits").exists(), 10, "srun")
        return run

    return begin


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_by_a_signal(waiting, tmp_path, number):
    run = waiting()
    run.signal(number)
    assert run.wait(10).rc == 128 + number
    assert (tmp_path / "srun.withdrawn").exists()


@pytest.mark.parametrize("which", ["guard", "agent"])
def test_by_a_kill(waiting, tmp_path, which):
    run = waiting()
    os.kill(run.pid if which == "guard" else run.agent(), signal.SIGKILL)
    assert run.wait(10).rc in (137, -9)
    run.nothing_left(5)
    assert (tmp_path / "srun.withdrawn").exists()


def test_by_the_time_out_of_the_start(waiting, tmp_path):
    result = waiting("--launch-timeout=1").wait(15)
    assert result.rc == 80 and "host na: no agent within 1 s (--launch-timeout)" in result.err, result.err
    assert (tmp_path / "srun.withdrawn").exists()
