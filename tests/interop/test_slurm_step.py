"""srun dlaunch ./prog, one task a node: nodes, ranks, endpoint and job id are SLURM's."""

from processes import until
from running import without_open_line

SHOW = 'note "$SLURM_STEP_ID.$RANK" "$(hostname) $WORLD_SIZE $GROUP_RANK $MASTER_ADDR $MASTER_PORT $TORCHELASTIC_RUN_ID"\n'


def places(seen, step=0):
    return [path.read_text().split() for path in sorted(seen.glob(f"{step}.?"))]


def test_it_needs_no_option(slurm, seen, shell_worker):
    cluster = slurm(3)
    result = cluster.srun("-N2", "--nodelist=node[2-3]", "dlaunch", shell_worker(SHOW), env={"SLURM_RESTART_COUNT": 2}).wait(40)
    found = places(seen)
    assert result.rc == 0 and [place[:3] for place in found] == [["node2", "2", "0"], ["node3", "2", "1"]], result.err
    assert {place[3] for place in found} <= {"node2", cluster.net["node2"].address}, "not where srun runs"
    assert len({place[4] for place in found}) == 1 and {place[5].partition(".")[2] for place in found} == {"0"}
    cluster.empty()


def test_two_steps_of_a_job_at_once_do_not_meet(slurm, seen, shell_worker):
    cluster = slurm(2)
    program = shell_worker(SHOW + "await go\n")
    job = cluster.sbatch(f"srun --overlap dlaunch {program} & srun --overlap dlaunch {program} & wait %1 && wait %2", "-N2")
    until(lambda: len(list(seen.glob("[01].[01]"))) == 4, 40, "two worlds of two")
    ports = [{place[4] for place in places(seen, step)} for step in (0, 1)]
    assert all(len(each) == 1 for each in ports) and ports[0] != ports[1]
    (seen / "go").touch()
    status, errors = cluster.ended(job)
    assert (status, without_open_line(errors)) == (0, "")


def test_a_failure_ends_every_node_with_its_status(slurm, shell_worker):
    cluster = slurm(2)
    worker = shell_worker("[ $RANK != 3 ] || exit 7\nexec sleep $TEST_RUN_MARK\n")
    result = cluster.srun("-N2", "dlaunch", "--nproc-per-node=2", worker).wait(40)
    assert result.rc == 7 and "rank 3 (node2" in result.err, result.err
    cluster.empty()


def test_an_elastic_job_with_a_spare(slurm, seen, shell_worker):
    cluster = slurm(3)
    run = cluster.srun("-N3", "dlaunch", "--nnodes=1:2", shell_worker(SHOW + "await go\n"))
    port = 20_000 + 101  # of step 0 of SLURM's first job
    until(lambda: len(places(seen)) == 2, 40, "the workers")
    until(lambda: all(node.connected_to(cluster.nodes[0], port) for node in cluster.nodes), 10, "the spare")
    run.go()
    result = run.wait(20)
    assert result.rc == 0 and [place[1] for place in places(seen)] == ["2", "2"], result.err


def test_components_of_a_heterogeneous_job_are_one_job(slurm, seen, shell_worker):
    """SLURM sorts the list of its nodes by name, and numbers them by component."""
    cluster = slurm(2)
    head = "#SBATCH --nodes=1 --nodelist=node2\n#SBATCH hetjob\n#SBATCH --ntasks=2 --nodelist=node1\n"
    status, output = cluster.ended(cluster.sbatch(head + f"srun --het-group=0,1 dlaunch {shell_worker(SHOW)}"))
    assert status == 0 and [place[:3] for place in places(seen)] == [["node2", "3", "0"], ["node1", "3", "1"], ["node1", "3", "1"]], output
