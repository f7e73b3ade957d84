"""torchrun's static form: --node-rank, --master-addr, --master-port. Ranks are as claimed, and the store is at exactly
that port in every round."""


def words(job, rank, *options):
    return [
        "--nnodes=2",
        "--nproc-per-node=2",
        f"--node-rank={rank}",
        "--master-addr=node1",
        "--master-port=29555",
        *options,
        "--no-python",
        str(job.program),
    ]


def test_ranks_are_as_claimed(meeting):
    job = meeting("node2", "node1")  # the second in the order of names has rank 0
    runs = [
        job.net["node1"].start(*words(job, 0, "--max-restarts=1")),
        job.net["node2"].start(*words(job, 1, "--max-restarts=1")),
    ]
    world = job.world(4)
    assert world.hosts == ["node1", "node1", "node2", "node2"] and world.masters == {"node1:29555"}
    job.order(3, "exit 3")
    after = job.world(4, after=world)
    assert after.hosts == world.hosts and after.restarts == {1} and after.masters == {"node1:29555"}
    job.end_well(after, *runs)


def test_rank_0_need_not_be_the_first_name(meeting):
    job = meeting(2)
    turned = lambda rank: [word.replace("=node1", "=node2") for word in words(job, rank)]
    runs = [job.net["node1"].start(*turned(1)), job.net["node2"].start(*turned(0))]
    world = job.world(4)
    assert world.hosts == ["node2", "node2", "node1", "node1"] and world.masters == {"node2:29555"}
    job.end_well(world, *runs)


def test_one_node_fails_for_all(meeting):
    job = meeting(2)
    runs = [job.net[0].start(*words(job, 0)), job.net[1].start(*words(job, 1))]
    job.world(4)
    job.order(2, "exit 9")
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [9, 9] and all("rank 2 (node2" in r.err for r in results)
    job.all_empty()
