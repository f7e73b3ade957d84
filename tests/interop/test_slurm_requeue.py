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
        until(lambda: "scontrol requeue" in cluster.output(job), 10, "the line after the answer of scontrol")


@pytest.mark.parametrize("how", ["step", "script", "front end"])
def test_a_cancelled_job_does_not_run_again(slurm, seen, shell_worker, how):
    cluster = slurm(1)
    words = f"--requeue --nproc-per-node=2 {shell_worker(SAVE)}"
    script = {"step": "srun dlaunch", "script": "exec dlaunch", "front end": "exec dlaunch --launcher=srun"}[how]
    job = cluster.sbatch(f"{script} {words}", "--requeue")
    until(lambda: len(list(seen.glob("*.ready"))) == 2, 40, "the workers")
    cluster.ask("scancel", job)
    cluster.ended(job)
    assert restarts(cluster, job) == "0" and cluster.job(job)["JobState"] == "CANCELLED"
    assert {path.name for path in seen.glob("*.saved")} == {"0.saved", "1.saved"}


def test_a_job_runs_again_after_its_time_limit(slurm, seen, shell_worker):
    cluster = slurm(1)
    job = cluster.sbatch(f"srun dlaunch --requeue {shell_worker(SAVE)}", "--requeue", "--time=60")
    until(lambda: len(list(seen.glob("*.ready"))) == 1, 40, "the worker")
    cluster.ask("scontrol", "update", f"JobId={job}", "EndTime=now+2seconds")
    until(lambda: restarts(cluster, job) == "1", 60, "the requeue")


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
