"""dlaunch --launcher=srun in a batch script: a front end over the nodes of the allocation."""

import signal

from processes import until

SHOW = 'echo "$(hostname) $GROUP_RANK $RANK/$WORLD_SIZE $SLURM_JOB_ID"'


def test_it_starts_all_nodes_of_the_allocation(slurm):
    cluster = slurm(3)
    job = cluster.sbatch(f"dlaunch --launcher=srun --nproc-per-node=2 --no-python sh -c '{SHOW}'", "-N3")
    status, output = cluster.ended(job)
    wanted = [f"node{1 + rank // 2} {rank // 2} {rank}/6 {job}" for rank in range(6)]
    assert status == 0 and sorted(output.splitlines()) == wanted, output
    cluster.empty()


def test_ranks_follow_the_order_of_the_list(slurm):
    cluster = slurm(2)
    job = cluster.sbatch(f"dlaunch --launcher=srun --hosts=node2,node1 --no-python sh -c '{SHOW}'", "-N2")
    status, output = cluster.ended(job)
    assert status == 0 and sorted(output.splitlines()) == [f"node1 1 1/2 {job}", f"node2 0 0/2 {job}"], output


def test_a_failure_gives_the_status_and_one_report(slurm):
    cluster = slurm(2)
    job = cluster.sbatch("dlaunch --launcher=srun --no-python sh -c '[ $RANK = 0 ] && sleep 60; sleep 0.5; exit 7'", "-N2")
    status, output = cluster.ended(job)
    assert status == 7 and output.count("dlaunch: rank 1 (node2") == 1, output
    cluster.empty()


def test_outside_of_an_allocation_it_is_refused(dlaunch):
    result = dlaunch("--launcher=srun", "true")
    assert result.rc == 2 and "no allocation (SLURM_JOB_NODELIST is not set)" in result.err


def test_an_interrupt_withdraws_the_request_of_an_srun_that_waits_for_nodes(slurm):
    cluster = slurm(1)
    cluster.sbatch("sleep 600", "--exclusive")
    until(lambda: cluster.ask("squeue", "-h", "-t", "R"), 40, "the job that takes the node")
    run = cluster.login.start("--launcher=srun", "--hosts=node1", "true", env=cluster.environment)
    until(lambda: cluster.ask("squeue", "-h", "-t", "PD"), 40, "the request")
    run.signal(signal.SIGINT)
    assert run.wait(15).rc == 130
    assert not cluster.ask("squeue", "-h", "-t", "PD")
