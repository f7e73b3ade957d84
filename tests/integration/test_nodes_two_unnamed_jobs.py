"""Two jobs without --rdzv-id at one endpoint: the second is refused at once, the first is not affected."""

import pytest


def unnamed(job, host, nnodes, program):
    words = [word for word in job.words(nnodes) if not word.startswith("--rdzv-id")]
    return host.start(*words[:-1], str(program))


@pytest.mark.parametrize("nnodes", ["2", "1:4"])
def test_another_program_is_refused_on_every_node(meeting, shell_worker, nnodes):
    job = meeting(4)
    other = shell_worker("note other.$RANK yes", "other.sh")
    first = [unnamed(job, host, nnodes, job.program) for host in job.net.all[:2]]
    world = job.world(2)
    second = [unnamed(job, host, "2", other) for host in job.net.all[2:]]
    for run in second:
        result = run.wait(10)
        assert result.rc == 83, result.err
        text = 'this is job "none" of other.sh, the coordinator serves job "none" of worker.sh, expected another port'
        assert text in result.first_line and "--rdzv-id" in result.first_line
    assert job.rounds() == 1 and not list(job.seen.glob("other.*"))
    assert not any("other.sh" in run.err() for run in first)
    job.end_well(world, *first)


def test_the_same_program_waits_as_a_spare_with_a_message(meeting):
    job = meeting(3)
    runs = [unnamed(job, host, "2", job.program) for host in job.net.all[:2]]
    world = job.world(2)
    spare = unnamed(job, job.net[2], "2", job.program)
    job.net[2].await_connection(job.net[0])
    job.end_well(world, *runs, spare)
    assert 'a spare of job "none"' in spare.err() and "another job needs another port" in spare.err()
    assert job.rounds() == 1
