"""All nodes name the same first cause first: before a restart, and in the report."""

import re

import pytest

LOSES_IT = "await gone.{round}; echo 'ConnectionResetError: Connection reset by peer' >&2; exit 1"


def lines_with_ranks(result):
    return [line for line in result.err.splitlines() if re.match(r"dlaunch: rank \d", line)]


def test_a_rank_that_exits_with_0_too_early(cluster):
    job = cluster(3)
    for number, early in ((0, 5), (1, 0)):
        for rank in range(6):
            text = f"note gone.{number}; exit 0" if rank == early else LOSES_IT.format(round=number)
            job.first(number, rank, text)
    runs = job.begin("3", "--max-restarts=1", each=2)
    results = [run.wait(40) for run in runs]
    for result in results:
        assert result.rc == 1, result.err
        lines = lines_with_ranks(result)
        assert re.match(r"dlaunch: rank 5 \(node3, .* exited with 0 while its peers needed it", lines[0]), result.err
        assert re.match(r"dlaunch: rank 0 \(node1, .* exited with 0 while its peers needed it in round 1", lines[-1])
        assert "  also failed:   ranks 1-5 exited with 1: ConnectionResetError" in result.err
        assert "stderr is empty" not in result.err
    assert [len(lines_with_ranks(result)) for result in results] == [2, 2, 2], results
    assert lines_with_ranks(results[0])[0].endswith(": restarting all workers (restart 1 of 1)")


@pytest.mark.parametrize("word", ["{name}<41823>", "[{address}]:41823"])
def test_a_rank_that_its_peers_name_by_its_host(cluster, word):
    job = cluster(3)
    lost = word.format(name=job.net[2].name, address=job.net[2].address)
    for number in (0, 1):
        for rank in (0, 1):
            job.first(number, rank, f"echo 'recv from {lost} failed: Connection reset by peer' >&2; exit 1")
    runs = job.begin("3", "--max-restarts=1", "--settle=0.3")
    for result in [run.wait(40) for run in runs]:
        lines = lines_with_ranks(result)
        assert result.rc == 1 and re.match(r"dlaunch: rank 2 \(node3.* was named as lost by its peers", lines[0]), result.err
        assert re.match(r"dlaunch: rank 2 \(node3.* was named as lost by its peers in round 1", lines[-1]), result.err
        assert "also failed:   ranks 0-1 exited with 1" in result.err


@pytest.mark.parametrize("each, gone, others", [(1, [1], "0, 2"), (2, [2, 3], "0-1, 4-5")])
def test_a_node_whose_ranks_all_exit_with_0_too_early(cluster, each, gone, others):
    job = cluster(3)
    for number in (0, 1):
        for rank in range(3 * each):
            early = f"note gone.{number}; exit 0"
            job.first(number, rank, early if rank in gone else LOSES_IT.format(round=number))
    runs = job.begin("3", "--max-restarts=1", each=each)
    for result in [run.wait(40) for run in runs]:
        lines = lines_with_ranks(result)
        is_head = re.compile(rf"dlaunch: rank [{min(gone)}-{max(gone)}] \(node2, .* exited with 0 while its peers needed it")
        assert result.rc == 1 and is_head.match(lines[0]) and is_head.match(lines[-1]), result.err
        assert f"  also failed:   ranks {others} exited with 1: ConnectionResetError" in result.err
        named = re.search(r"rank (\d)", lines[-1])[1]
        assert not re.search(rf"ended well: .*{named}", result.err), result.err


@pytest.mark.parametrize("logs", [[], ["-r", "3", "--log-dir=logs"]], ids=["console", "files"])
def test_only_the_cause_of_a_restart_is_named_with_its_message(cluster, logs):
    job = cluster(2)
    for rank in (0, 1, 2):
        job.first(0, rank, f"await gone; echo 'ConnectionResetError: Connection reset by peer' >&2; note lost.{rank}; exit 1")
    job.first(0, 3, "note gone; await lost.0; echo 'ValueError: loss is NaN' >&2; exit 3")
    for rank in range(4):
        job.first(1, rank, "exit 0")
    runs = job.begin("2", "--max-restarts=1", *logs, each=2)
    results = [run.wait(40) for run in runs]
    for result in results:
        assert result.rc == 0, result.err
        own = [line for line in result.err.splitlines() if line.startswith("dlaunch: ") and "log files" not in line]
        cause = own.index(next(line for line in own if line.startswith("dlaunch: rank")))
        assert re.match(r"dlaunch: rank 3 \(node2, .* exited with 3 after", own[cause]), result.err
        assert own[-1] == "dlaunch: restarting all workers (restart 1 of 1)", result.err
        is_shown = result is results[1] and not logs
        assert own[cause + 1 : -1] == ([] if is_shown else ["dlaunch:   ValueError: loss is NaN"]), result.err


@pytest.mark.parametrize("logs", [[], ["-r", "3", "--log-dir=logs"]], ids=["console", "files"])
def test_a_front_end_shows_the_cause_of_a_restart_once(dlaunch, tmp_path, logs):
    text = """
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
if [ $RANK != 3 ]; then
    until [ -e gone ]; do sleep 0.01; done; echo 'Connection reset by peer' >&2; > lost.$RANK; exit 1
fi
> gone; until [ -e lost.0 ]; do sleep 0.01; done; echo 'ValueError: loss is NaN' >&2; exit 3"""
    result = dlaunch("--launcher=fork", "--hosts=h0:2,h1:2", "--max-restarts=1", *logs, f"--chdir={tmp_path}", "sh", "-c", text)
    assert result.rc == 0, result.err
    own = [line for line in result.err.splitlines() if line.startswith("dlaunch: ") and "log files" not in line]
    assert re.match(r"dlaunch: rank 3 \(h1, .* exited with 3 after", own[0]), result.err
    assert own[-1].endswith("restarting all workers (restart 1 of 1)") and len(own) == (3 if logs else 1), result.err
    assert result.err.count("ValueError: loss is NaN") == 1, result.err
