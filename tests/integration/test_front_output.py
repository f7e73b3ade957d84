"""The front end prints the output of all nodes in whole lines, and one report."""

import json
import sys

FLOOD = f"#!{sys.executable} -SE\n" + """
import os, sys
rank = os.environ["RANK"]
for n in range(2000):
    sys.stdout.write(f"{rank}:{n}:" + "x" * (n * 37 % 211))
    if n % 7 == 0:
        sys.stdout.flush()
    sys.stdout.write("|\\n")
"""


def test_lines_stay_whole_and_in_order(dlaunch, script):
    result = dlaunch("--launcher=fork", "--hosts=a:2,b:2", "--no-python", script("flood", FLOOD))
    assert result.rc == 0
    lines = result.out.splitlines()
    for rank in range(4):
        assert [l for l in lines if l.startswith(f"{rank}:")] == [f"{rank}:{n}:" + "x" * (n * 37 % 211) + "|" for n in range(2000)]
    assert len(lines) == 8000


def test_a_prefix_names_the_host_of_the_list(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "-t", 1, "--log-line-prefix-template=${hostname}> ", "echo", "hi")
    assert sorted(result.out.splitlines()) == ["a> hi", "b> hi"]


def test_the_report_comes_once_and_names_the_host(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--no-python", "sh", "-c", "sleep 0.2; [ $RANK = 0 ] && sleep 60; exit 5")
    heads = [line for line in result.err.splitlines() if "rank 1" in line]
    assert result.rc == 5 and len(heads) == 1 and heads[0].startswith("dlaunch: rank 1 (b, pid "), result.err


def test_the_report_lists_the_workers_of_all_hosts(dlaunch, tmp_path):
    report = tmp_path / "report.json"
    ends = ["--no-python", "sh", "-c", '[ "$TORCHELASTIC_RESTART_COUNT$RANK" = 00 ] && exit 3; exit 0']
    result = dlaunch("--launcher=fork", "--hosts=a:2,b", f"--report={report}", "--max-restarts=1", "-n", 2, *ends, ":", "-n", 1, "true")
    told = json.loads(report.read_text())["workers"]
    assert result.rc == 0, result.err
    assert [(each["rank"], each["local_rank"], each["host"], each["role"]) for each in told] == [(0, 0, "a", "sh"), (1, 1, "a", "sh"), (2, 0, "b", "true")]
    assert all(each["exit_status"] == 0 and each["pid"] > 0 and each["max_rss_kib"] > 0 for each in told)


def test_a_reader_that_stops_holds_up_no_beat(start, tmp_path, seen):
    """12 s without a reader, longer than the lease of the nodes; then all lines arrive."""
    run = start("--launcher=fork", "--hosts=a,b", "--no-python", "sh", "-c",
                'yes "0123456789" | head -n 400000', prefix=["sh", "-c", '"$@" | { sleep 12; wc -l; }', "-"])
    assert run.wait(60).out.strip() == "800000"


def test_the_report_names_the_log_folder_by_the_hosts_link(dlaunch, tmp_path):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--log-dir=logs", "-r", 3, "sh", "-c", "exit $((RANK * 3))")
    assert result.rc == 3 and "  logs:          logs/latest-b/attempt_0/0/" in result.err.splitlines(), result.err
    assert (tmp_path / "logs/latest-b/attempt_0/0/stderr.log").exists()
