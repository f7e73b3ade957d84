"""Fewer nodes than the job needs: 80 on all of them, with a text that says how many came."""


def test_the_count_is_told(meeting):
    job = meeting(2)
    runs = job.begin("3", conf="join_timeout=1.5")
    for run in runs:
        result = run.wait(10)
        assert result.rc == 80 and "rendezvous timed out after 1.5 s: 2 of 3 nodes" in result.err, result.err
    assert job.rounds() == 0
    job.all_empty()


def test_nobody_answers_at_the_endpoint(meeting):
    job = meeting(2)
    result = job.join(job.net["node2"], "2", conf="join_timeout=1").wait(10)
    assert result.rc == 80 and "timed out after 1 s: no answer from" in result.err and "node1:29400" in result.err
    job.all_empty()


def test_the_endpoint_has_no_carrier(meeting):
    job = meeting(2)
    job.net["node2"].unplug()
    result = job.join(job.net["node2"], "2", conf="join_timeout=1").wait(10)
    assert result.rc == 80 and "node1:29400" in result.err
