"""dlaunch in a batch script, without srun."""


def test_an_unused_allocation_is_mentioned(slurm):
    cluster = slurm(2)
    status, output = cluster.ended(cluster.sbatch("dlaunch sh -c 'echo $WORLD_SIZE'", "-N2"))
    lines = output.splitlines()
    assert status == 0 and sorted(lines)[0] == "1" and len(lines) == 2, output
    assert "dlaunch: SLURM has allocated 2 nodes" in output and "srun" in output


def test_one_node_is_no_matter(slurm):
    cluster = slurm(1)
    assert cluster.ended(cluster.sbatch("dlaunch sh -c 'echo $WORLD_SIZE'", "-N1")) == (0, "1\n")


def test_more_workers_than_cores_are_mentioned(slurm):
    cluster = slurm(1)
    output = cluster.ended(cluster.sbatch("taskset -c 0 dlaunch --nproc-per-node=2 true", "-N1"))[1]
    assert "2 workers share 1 usable core" in output


def test_gpus_are_those_of_the_node(slurm, seen, shell_worker):
    cluster = slurm(2)
    worker = shell_worker('note "$RANK.gpus" "$(hostname) $LOCAL_WORLD_SIZE $CUDA_VISIBLE_DEVICES"\n')
    result = cluster.srun("-N2", "--gpus-per-node=2", "dlaunch", "--nproc-per-node=gpu", worker).wait(40)
    found = [path.read_text().split() for path in sorted(seen.glob("*.gpus"))]
    assert result.rc == 0 and found == [[f"node{1 + rank // 2}", "2", "0,1"] for rank in range(4)], result.err
