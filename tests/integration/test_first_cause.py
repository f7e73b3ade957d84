"""The first cause is chosen by evidence: a rank that closes its connections first makes its peers fail before it does.

The workers are those of support/mesh.py.
"""
# ctest: timeout 300

import json
import re

import pytest

from mesh import CLOSE, MESH, head


@pytest.fixture
def mesh(dlaunch, script, tmp_path):
    """mesh(culprit, play): the result and the JSON report of four ranks of which one is the culprit."""
    program = script("mesh.py", MESH)

    def run(culprit, play, *options, **env):
        folder = tmp_path / "ports"
        folder.mkdir()
        report = tmp_path / "report.json"
        result = dlaunch("--nproc-per-node=4", f"--report={report}", *options, program,
                         env={"FOLDER": folder, "CULPRIT": culprit, "PLAY": play, **env})
        return result, json.loads(report.read_text())

    return run


@pytest.mark.parametrize("play, status", [
    ("raise ValueError('loss is NaN')", 1),
    ("sys.exit(7)", 7),
    ("os.kill(os.getpid(), signal.SIGSEGV)", 139),
])
def test_a_culprit_that_exits_after_its_peers(mesh, play, status):
    result, report = mesh(2, CLOSE + "time.sleep(0.3)\n" + play)
    assert (result.rc, head(result).split(" (")[0]) == (status, "dlaunch: rank 2"), result.err
    assert re.search(r"also failed: +ranks 0-1, 3 exited with 1: error: connection closed by peer", result.err), result.err
    assert "ranks 0-1, 3 had lost a peer" in report["failures"][0]["because"]
    assert [failure["exit_status"] for failure in report["failures"]] == [status, 1, 1, 1]


def test_workers_that_say_it_on_standard_output(mesh):
    """Below a warning on standard error."""
    warning = "print('x.py:3: UserWarning: slow\\n  warnings.warn(x)', file=sys.stderr, flush=True)\n"
    fails = "print('Traceback (most recent call last):\\n  File \"x.py\"\\nValueError: loss is NaN', flush=True)\nos._exit(1)"
    result, report = mesh(2, warning + CLOSE + "time.sleep(0.3)\n" + fails, WHERE="stdout")
    assert head(result).startswith("dlaunch: rank 2 ("), result.err
    assert "ValueError: loss is NaN" in result.err and "ranks 0-1, 3 had lost a peer" in report["failures"][0]["because"]


def test_a_culprit_that_lost_a_server(mesh):
    play = CLOSE + "time.sleep(0.3)\nraise ConnectionError('https://hub.example/model: connection refused')"
    assert head(mesh(1, play)[0]).startswith("dlaunch: rank 1 (")


def test_a_culprit_that_exited_with_0(mesh):
    result, report = mesh(1, CLOSE + "time.sleep(0.2)\nsys.exit(0)")
    assert result.rc == 1 and "rank 1" in head(result) and "exited with 0 while its peers needed it" in head(result)
    assert report["failures"][0]["exit_status"] == 0


def test_a_culprit_that_does_not_exit_but_is_named_by_its_peers(mesh):
    result, report = mesh(3, CLOSE + "signal.pause()", MESSAGE="rank 3 is gone")
    assert result.rc == 1 and "rank 3" in head(result) and "was named as lost by its peers" in head(result)
    assert report["failures"][0]["how"] == "stopped"


def test_a_lost_peer_alone_is_the_cause_after_the_settle_time(mesh):
    result, report = mesh(0, CLOSE + "signal.pause()", "--settle=0.2", STAY="2 3")
    assert result.rc == 1 and "rank 1" in head(result)
    assert re.search(r"stopped by us: ranks 0, 2-3", result.err), result.err
    assert 0.2 < report["seconds"] < 5


def test_without_a_settle_time_the_first_exit_is_the_cause(mesh):
    result, _ = mesh(0, CLOSE + "signal.pause()", "--settle=0", STAY="2 3")
    assert result.rc == 1 and "rank 1" in head(result)


def test_a_culprit_on_another_node(dlaunch, script, tmp_path):
    """Both hosts report the rank of the second one."""
    program = script("mesh.py", MESH)
    result = dlaunch("--launcher=fork", "--hosts=a:2,b:2", program,
                     env={"FOLDER": tmp_path, "CULPRIT": 3, "PLAY": CLOSE + "time.sleep(0.3)\nsys.exit(7)"})
    assert result.rc == 7 and head(result).startswith("dlaunch: rank 3 (b,"), result.err
    assert re.search(r"also failed: +ranks 0-2 exited with 1: error: connection closed by peer", result.err), result.err


def test_a_rank_on_another_node_that_its_peers_name(dlaunch, script, tmp_path):
    program = script("mesh.py", MESH)
    result = dlaunch("--launcher=fork", "--hosts=a:3,b:1", program,
                     env={"FOLDER": tmp_path, "CULPRIT": 3, "PLAY": CLOSE + "signal.pause()", "MESSAGE": "rank 3 is gone"})
    assert result.rc == 1 and head(result).startswith("dlaunch: rank 3 (b,"), result.err


def test_the_line_before_a_restart_names_the_cause(mesh, tmp_path):
    again = "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '1': os._exit(0)\n"
    result, _ = mesh(2, CLOSE + "time.sleep(0.2)\nsys.exit(9)", "--max-restarts=1", "--crash-loop=0")
    assert "rank 2" in head(result) and "exited with 9" in head(result), result.err


@pytest.mark.parametrize("hosts", [["--nproc-per-node=4"], ["--launcher=fork", "--hosts=a:2,b:2"]], ids=["a node", "two hosts"])
def test_a_rank_that_loses_a_server_after_the_others_have_ended_well(dlaunch, script, hosts):
    """The finished ranks are not the cause: most ranks have exited with 0."""
    program = script("upload", '#!/bin/sh\n[ "$RANK" = 0 ] || exit 0\nsleep 0.3\necho "upload: Connection refused" >&2\nexit 7\n')
    result = dlaunch(*hosts, "--no-python", program)
    assert result.rc == 7 and head(result).startswith("dlaunch: rank 0 ("), result.err


def test_ranks_that_name_each_other_in_a_circle(dlaunch, script):
    program = script("circle", '#!/bin/sh\nsleep 0.$RANK\necho "lost connection to rank $(( (RANK + 1) % 3 ))" >&2\nexit $((4 + RANK))\n')
    result = dlaunch("--nproc-per-node=3", "--no-python", program)
    rank = int(re.search(r"^dlaunch: rank (\d) .* exited with (\d)", head(result))[1])
    assert result.rc == 4 + rank, result.err


@pytest.mark.parametrize("hosts", [["--nproc-per-node=2"], ["--launcher=fork", "--hosts=a,b"]], ids=["a node", "two hosts"])
def test_an_error_on_standard_output_is_quoted(dlaunch, script, hosts):
    program = script("fails", '#!/bin/sh\n[ "$RANK" = 1 ] || exec sleep 60\necho "[rank 1] Error: cannot reshape [3, 4]: 13 elements"\nexit 3\n')
    result = dlaunch(*hosts, "--no-python", program)
    assert result.rc == 3 and "    [rank 1] Error: cannot reshape [3, 4]: 13 elements\n" in result.err, result.err
