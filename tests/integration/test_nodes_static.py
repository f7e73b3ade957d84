"""torchrun's static form: --node-rank, --master-addr, --master-port. Ranks are as claimed, and the store uses exactly that
port in every round."""

from processes import until


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


def test_ranks_are_as_claimed(cluster):
    job = cluster("node2", "node1")  # the second in the order of names has rank 0
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


def test_rank_0_need_not_be_the_first_name(cluster):
    job = cluster(2)
    turned = lambda rank: [word.replace("=node1", "=node2") for word in words(job, rank)]
    runs = [job.net["node1"].start(*turned(1)), job.net["node2"].start(*turned(0))]
    world = job.world(4)
    assert world.hosts == ["node2", "node2", "node1", "node1"] and world.masters == {"node2:29555"}
    job.end_well(world, *runs)


def test_one_node_fails_for_all(cluster):
    job = cluster(2)
    runs = [job.net[0].start(*words(job, 0)), job.net[1].start(*words(job, 1))]
    job.world(4)
    job.order(2, "exit 9")
    results = [run.wait(10) for run in runs]
    assert [result.rc for result in results] == [9, 9] and all("rank 2 (node2" in r.err for r in results)
    job.all_empty()


def test_rank_0_is_not_where_the_master_address_is(cluster):
    """The node that must host reports the error at once; other nodes report a time-out."""
    job = cluster(2)
    swapped = [job.net[at].start(*words(job, 1 - at, "--rdzv-conf=timeout=3")) for at in (0, 1)]
    until(lambda: "expected --node-rank=0 on node1" in swapped[1].err(), 2, "the error message")
    results = [run.wait(15) for run in swapped]
    assert [result.rc for result in results] == [80, 80]
    assert results[1].first_line.startswith("dlaunch: --master-addr: node1 is no address of this node")
    assert "at 10.86.0.2:29555" in results[1].first_line and "1 of 2 nodes" in results[1].err
    assert "no answer from the coordinator at node1:29555" in results[0].err


def test_a_second_rank_0_is_refused_by_the_first(cluster):
    job = cluster(2)
    first = job.net["node1"].start(*words(job, 0))
    job.net["node1"].await_connection(job.net["node1"], port=29555)
    other = job.net["node2"].start(*words(job, 1))
    world = job.world(4)
    late = job.net["node2"].start(*words(job, 0)).wait(10)
    assert late.rc == 83 and "node rank 0 is node1's" in late.first_line, late.err
    job.end_well(world, first, other)
