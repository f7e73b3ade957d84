"""Two jobs without --rdzv-id at one endpoint: nodes of the second wait as spares, and both jobs are warned."""

from processes import until


def unnamed(job, host, nnodes, program):
    words = [word for word in job.words(nnodes) if not word.startswith("--rdzv-id")]
    return host.start(*words[:-1], str(program))


def test_another_program_waits_as_a_spare_and_both_sides_are_warned(cluster, shell_worker):
    """It may be the same script under a new name, so it is not refused."""
    job = cluster(3)
    other = shell_worker("note other.$RANK yes", "other.sh")
    first = [unnamed(job, host, "2", job.program) for host in job.net.all[:2]]
    world = job.world(2)
    second = unnamed(job, job.net[2], "2", other)
    until(lambda: "waiting as a spare" in second.err(), 20, "the line of the spare")
    job.end_well(world, *first, second)
    assert 'waiting as a spare: job "none"' in second.err() and "needs its own port" in second.err()
    assert "node3 joins with program other.sh, but the job runs worker.sh" in first[0].err()
    assert job.rounds() == 1 and not list(job.seen.glob("other.*"))


def test_the_same_program_waits_as_a_spare_with_a_message(cluster):
    job = cluster(3)
    runs = [unnamed(job, host, "2", job.program) for host in job.net.all[:2]]
    world = job.world(2)
    spare = unnamed(job, job.net[2], "2", job.program)
    until(lambda: "waiting as a spare" in spare.err(), 20, "the line of the spare")
    job.end_well(world, *runs, spare)
    assert 'waiting as a spare: job "none"' in spare.err() and "needs its own port" in spare.err()
    assert job.rounds() == 1
