"""--requeue: SLURM runs a batch job again that a SIGTERM has ended, and no other one."""

import pytest

from processes import until

SAVE = "trap 'note $RANK.saved; exit 0' TERM\nready\nwhile :; do sleep 0.05; done\n"


def restarts(cluster, job):
    return cluster.job(job).get("Restarts")  # none while the controller does not answer


@pytest.mark.parametrize("how", ["step", "script"])
def test_a_job_that_is_terminated_runs_again(slurm, seen, shell_worker, how):
    cluster = slurm(1)
    words = f"--requeue --nproc-per-node=2 {shell_worker(SAVE)}"
    job = cluster.sbatch(f"srun dlaunch {words}" if how == "step" else f"exec dlaunch {words}", "--requeue")
    until(lambda: len(list(seen.glob("*.ready"))) == 2, 40, "the workers")
    cluster.ask("scancel", "--signal=TERM", *(["--batch"] if how == "script" else []), job)
    until(lambda: restarts(cluster, job) == "1", 30, "the requeue")
    assert {path.name for path in seen.glob("*.saved")} == {"0.saved", "1.saved"}
    if how == "script":  # of a step srun may drop the last line: the requeue kills it
        assert "scontrol requeue" in cluster.output(job)


def test_a_failure_ends_the_job(slurm, shell_worker):
    cluster = slurm(1)
    job = cluster.sbatch(f"exec dlaunch --requeue {shell_worker('kill -TERM $$')}", "--requeue")
    assert cluster.ended(job)[0] == 143
    until(lambda: restarts(cluster, job) == "0", 10, "a record without restarts")


def test_an_interactive_job_says_why_not(slurm, shell_worker):
    cluster = slurm(1)
    run = cluster.srun("-N1", "dlaunch", "--requeue", shell_worker(SAVE))
    run.ready(1, 40)
    cluster.ask("scancel", "--signal=TERM", "--me")
    assert run.wait(30).rc == 143 and "dlaunch: the job is not requeued: scontrol requeue" in run.err(), run.err()


def test_a_front_end_asks_when_its_nodes_are_terminated(slurm, seen, shell_worker):
    cluster = slurm(2)
    job = cluster.sbatch(f"exec dlaunch --launcher=srun --requeue {shell_worker(SAVE)}", "-N2", "--requeue")
    until(lambda: len(list(seen.glob("*.ready"))) == 2, 40, "the workers")
    cluster.ask("scancel", "--signal=TERM", "--full", job)
    until(lambda: restarts(cluster, job) == "1", 40, "the requeue")
    assert {path.name for path in seen.glob("*.saved")} == {"0.saved", "1.saved"}
