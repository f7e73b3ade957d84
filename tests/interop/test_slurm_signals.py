"""Signals of SLURM's: workers get their grace, user signals, and no restart is used."""

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


def test_an_elastic_job_ends_when_all_its_nodes_are_told(slurm, seen, shell_worker):
    cluster = slurm(2)
    run = cluster.srun("-N2", "dlaunch", "--nnodes=1:2", "--max-restarts=3", shell_worker(SAVE))
    run.ready(2, 40)
    cluster.ask("scancel", "--signal=TERM", "--me")
    assert run.wait(30).rc == 143, run.err()
    cluster.empty()
