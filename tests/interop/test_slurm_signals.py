"""Signals of SLURM's: workers get their grace, user signals, and no restart is used."""

import time

import pytest

from processes import until

SAVE = "trap 'note $RANK.saved; exit 0' TERM\ntrap ': > $SEEN/$RANK.told' USR1\nready\nuntil [ -e $SEEN/go ]; do sleep 0.05; done\nexit 0\n"


def test_scancel_leaves_the_workers_their_grace(slurm, seen, shell_worker):
    cluster = slurm(2)
    run = cluster.srun("-N2", "--ntasks-per-node=2", "dlaunch", "--max-restarts=3", shell_worker(SAVE))
    run.ready(4, 40)
    cluster.ask("scancel", "--me")
    run.wait(30)
    assert {path.name for path in seen.glob("*.saved")} == {f"{rank}.saved" for rank in range(4)}
    assert "restart" not in run.err()
    cluster.empty()


def test_a_user_signal_reaches_the_workers(slurm, seen, shell_worker):
    cluster = slurm(2)
    run = cluster.srun("-N2", "dlaunch", "--nproc-per-node=2", shell_worker(SAVE))
    run.ready(4, 40)
    until(lambda: [cluster.ask("scancel", "--signal=USR1", "--me"), len(list(seen.glob("*.told"))) == 4][1], 10, "USR1")
    run.go()
    assert run.wait(30).rc == 0


# Takes each signal at once, so that two in a row do not become one.
COUNT = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
came = open(sys.argv[1] + "/" + os.environ["RANK"] + ".came", "w")
while True:
    number = signal.sigwait({signal.SIGUSR1, signal.SIGTERM})
    print(signal.Signals(number).name, file=came, flush=True)
    if number == signal.SIGTERM:
        signal.sigtimedwait({signal.SIGTERM}, 1) and print("SIGTERM again", file=came, flush=True)
        break
"""


WAYS = {
    "a step on one node": lambda cluster, *program: cluster.srun("-N1", "dlaunch", "--nproc-per-node=2", *program),
    "a step on two nodes": lambda cluster, *program: cluster.srun("-N2", "dlaunch", *program),
    "an elastic step on four nodes": lambda cluster, *program: cluster.srun("-N4", "dlaunch", "--nnodes=2:4", *program),
    "a front end in a batch script": lambda cluster, *program: cluster.sbatch(
        f"exec dlaunch --launcher=srun {' '.join(map(str, program))}", "-N2"),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_signal_reaches_a_worker_once(slurm, seen, script, way):
    """proctrack/linuxproc signals all processes of a step, so dlaunch must not repeat the signal."""
    workers = 4 if "four" in way else 2
    cluster = slurm(workers)
    WAYS[way](cluster, script("count.py", COUNT), seen)
    came = [seen / f"{rank}.came" for rank in range(workers)]
    until(lambda: all(path.exists() for path in came), 40, "the workers")
    for number in range(1, 5):
        cluster.ask("scancel", "--signal=USR1", "--me")
        until(lambda: all(path.read_text().count("USR1") >= number for path in came), 10, "the signal")
    cluster.ask("scancel", "--me")
    until(lambda: all("SIGTERM" in path.read_text() for path in came), 10, "the end")
    cluster.empty(30)
    assert [path.read_text().split() for path in came] == workers * [4 * ["SIGUSR1"] + ["SIGTERM"]]


def test_the_same_signal_again_within_a_second_kills_no_worker(slurm, seen, shell_worker):
    """The coordinator of two nodes receives it, too."""
    cluster = slurm(2)
    run = cluster.srun("-N2", "dlaunch", shell_worker(
        "trap 'note $RANK.told; sleep 1.5; note $RANK.saved; exit 0' TERM\nready\nwhile :; do sleep 0.05; done"))
    run.ready(2, 40)
    cluster.ask("scancel", "--signal=TERM", "--me")
    until(lambda: len(list(seen.glob("*.told"))) == 2, 10, "the signal")
    time.sleep(0.3)  # no copy of the first one, and within the second
    cluster.ask("scancel", "--signal=TERM", "--me")
    assert run.wait(30).rc == 143
    assert len(list(seen.glob("*.saved"))) == 2
    cluster.empty()


def test_an_elastic_job_ends_when_all_its_nodes_are_told(slurm, seen, shell_worker):
    cluster = slurm(2)
    run = cluster.srun("-N2", "dlaunch", "--nnodes=1:2", "--max-restarts=3", shell_worker(SAVE))
    run.ready(2, 40)
    cluster.ask("scancel", "--signal=TERM", "--me")
    assert run.wait(30).rc == 143, run.err()
    cluster.empty()
