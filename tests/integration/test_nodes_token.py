"""With a token nodes join inside TLS. A node with another token, with none, or with one where the job has none is refused with 83 and a message that names the mismatch."""

import os
import signal

import pytest


@pytest.fixture
def token_option(tmp_path):
    """token_option(text) -> the option that names a new token file."""

    def make(text):
        path = tmp_path / text
        path.write_text(text)
        path.chmod(0o600)
        return f"--token-file={path}"

    return make


def lines_about(run, host):
    return [line for line in run.err().splitlines() if "refused a connection from" in line and host.address in line]


def test_strangers_are_told_what_is_wrong(cluster, token_option):
    job = cluster(3)
    ours, another = token_option("token-of-this-job"), token_option("quite-another-token")
    runs = job.begin("2:3", ours, hosts=job.net.all[:2])
    world = job.world(2)
    stranger = job.net["node3"]
    for options, expected in [
        ((another,), "the job there has another token, expected --token-file with the token of that job"),
        ((), "this node has no token and that job has one, expected --token-file with the token of that job"),
    ]:
        result = job.join(stranger, "2:3", *options).wait(10)
        assert result.rc == 83 and result.err.endswith(f": {expected}\n") and len(result.err.splitlines()) == 1, result.err
    stranger.empty()
    late = job.join(stranger, "2:3", ours)
    world = job.world(3, after=world)
    assert job.rounds() == 2
    job.end_well(world, *runs, late)
    assert len(lines_about(runs[0], stranger)) == 1 and lines_about(runs[1], stranger) == []


def test_a_token_where_the_job_has_none(cluster, token_option):
    job = cluster(3)
    runs = job.begin("2", hosts=job.net.all[:2])
    world = job.world(2)
    result = job.join(job.net["node3"], "2", token_option("a-token-of-nobody")).wait(10)
    expected = "this node has a token and that job has none, expected no token, or the job's on all of its nodes"
    assert result.rc == 83 and result.err.endswith(f": {expected}\n"), result.err
    job.net["node3"].empty()
    assert job.rounds() == 1
    job.end_well(world, *runs)


def test_check_knows_the_token(cluster, token_option):
    job = cluster(3)
    ours = token_option("token-of-this-job")
    runs = job.begin("2", ours, hosts=job.net.all[:2])
    world = job.world(2)
    words = [word for word in job.words("2") if word.startswith("--")]
    for options, rc, expected in [
        ([ours], 0, 'yes: the coordinator of job "job" is there'),
        ([token_option("quite-another-token")], 83, "no: a coordinator refuses this node: the job there has another token"),
        ([], 83, "no: a coordinator refuses this node: this node has no token"),
    ]:
        result = job.net["node3"].start("check", *options, *words).wait(10)
        assert result.rc == rc and expected in result.out, result
    job.end_well(world, *runs)


def test_a_new_coordinator_process_has_it_too(cluster, token_option):
    job = cluster(2)
    runs = job.begin("2", token_option("token-of-this-job"))
    world = job.world(2)
    killed = runs[0].coordinator()
    os.kill(killed, signal.SIGKILL)
    assert runs[0].coordinator(but=[killed])
    assert job.rounds() == 1
    job.end_well(world, *runs)
