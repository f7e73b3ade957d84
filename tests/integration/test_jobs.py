"""`dlaunch ps`, `status`, `logs` and `stop`: this user's jobs on this node."""

import json
import os
import signal
import socket

import pytest

from processes import marked, until

WAIT = "echo out $RANK\necho err $RANK >&2\nready\nawait go\necho more $RANK\n"


@pytest.fixture
def runtime(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    return {"XDG_RUNTIME_DIR": tmp_path / "run"}


@pytest.fixture
def ask(start):
    """ask("ps") -> Result of a command, while jobs run."""
    return lambda *words, **more: start(*words, **more).wait()


def test_a_job_is_listed_while_it_runs(job, ask):
    run = job(WAIT, "--rdzv-id=night")
    pids = run.ready(2)
    head, row = ask("ps").out.splitlines()
    assert head.split() == ["JOB", "PID", "STATE", "WORKERS", "BEGAN", "PROGRAM"]
    assert row.split()[:6] == ["night", str(run.pid), "running", "2", "of", "2"] and row.endswith("worker.sh")
    text = ask("status").out
    assert all(f"pid {pid}" in text for pid in pids) and "state:    running, round 0, 0 restarts" in text
    (process,) = json.loads(ask("status", run.pid, "--json").out)["processes"]
    assert process["pid"] == run.pid and [worker["pid"] for worker in process["workers"]] == pids
    run.go()
    assert run.wait().rc == 0
    gone = ask("ps")
    assert (gone.rc, gone.out, gone.err) == (0, "", "dlaunch: no job of yours runs on this node\n")


def test_a_job_of_another_temporary_folder_is_found_by_its_link(job, ask, tmp_path, runtime):
    (tmp_path / "tmp").mkdir()
    run = job(WAIT, "--rdzv-id=night", env={**runtime, "TMPDIR": tmp_path / "tmp"})
    run.ready(2)
    assert "night" in ask("ps", env=runtime).out and ask("ps").out == ""
    run.go()
    assert run.wait().rc == 0 and os.listdir(tmp_path / "run/dlaunch") == []


def test_a_killed_job_leaves_no_entry(job, ask, tmp_path, runtime):
    run = job(WAIT, env=runtime)
    run.ready(2)
    for pid in [run.pid, run.agent(), *marked(run.mark)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    run.wait()
    until(lambda: not marked(run.mark), 10, "the end of all")
    assert ask("ps", env=runtime).out == "" and os.listdir(tmp_path / "run/dlaunch") == []
    assert ask("status", env=runtime).rc == 1


def test_a_job_that_waits_for_nodes_is_listed_and_stopped(start, ask):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    run = start("--nnodes=2:3", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=two", "true")
    until(lambda: "two" in ask("ps").out, 10, "the job")
    text = ask("status", "two").out
    assert "waiting for 2 to 3 nodes" in text and f"127.0.0.1:{port}" in text
    stopped = ask("stop", "two")
    assert (stopped.rc, stopped.out) == (0, "job two has ended\n") and run.wait(5).rc == 143


def test_logs_have_the_rank_before_each_line(job, ask):
    run = job(WAIT, "-r", "3", "--rdzv-id=night")
    run.ready(2)
    both = ask("logs")
    assert (both.out, both.err) == ("[0] out 0\n[1] out 1\n", "[0] err 0\n[1] err 1\n")
    one = ask("logs", "night", "--rank=1")
    assert (one.out, one.err) == ("out 1\n", "err 1\n")
    none = ask("logs", "--rank=2")
    assert none.rc == 1 and none.err == "dlaunch: logs: job night has no log files of rank 2 on this node\n"
    run.go()
    run.wait()


@pytest.mark.parametrize("words", [[], ["latest"], ["-f"]], ids=str)
def test_logs_of_the_newest_ended_job(job, ask, words):
    for name in ("first", "second"):
        run = job(f"echo {name} $RANK\necho err >&2\n", "-r", "3")
        assert run.wait().rc == 0
    ended = ask("logs", *words)
    assert ended.rc == 0 and ended.out == "[0] second 0\n[1] second 1\n"
    head, *rest = ended.err.splitlines()
    assert head.startswith("dlaunch: job dlaunch-20") and head.endswith(" has ended") and rest == ["[0] err", "[1] err"]
    one = ask("logs", head.split()[2], "--rank=1")
    assert (one.rc, one.out) == (0, "second 1\n")
    assert ask("logs", "worker.sh").rc == 1, "of two runs"
    assert ask("logs", "latest", "--rank=2").rc == 1 and ask("stop").rc == 1


def test_logs_of_a_run_by_its_folder(job, ask):
    run = job(WAIT, "-r", "3", "--log-dir=logs", "--rdzv-id=night", workers=1)
    run.ready(1)
    running = ask("logs", "logs")
    assert (running.out, running.err) == ("[0] out 0\n", "[0] err 0\n")
    run.go()
    assert run.wait().rc == 0
    for path in ("logs", "logs/latest", "logs/night"):
        ended = ask("logs", path)
        assert ended.out == "[0] out 0\n[0] more 0\n"
        assert ended.err.startswith("dlaunch: job night_") and ended.err.endswith(" has ended\n[0] err 0\n")
    assert ask("logs", "night").rc == 1


def test_logs_are_followed_through_restarts_to_the_end(job, start):
    worker = "echo round $TORCHELASTIC_RESTART_COUNT\nnote up.$TORCHELASTIC_RESTART_COUNT\nready\nawait go.$TORCHELASTIC_RESTART_COUNT\nexit $((1 - TORCHELASTIC_RESTART_COUNT))\n"
    run = job(worker, "-r", "3", "--max-restarts=1", workers=1)
    run.ready(1)
    follower = start("logs", "-f")
    until(lambda: "[0] round 0\n" in follower.out(), 10, "the first round")
    run.go("go.0")
    until(lambda: "[0] round 1\n" in follower.out(), 10, "the second round")
    assert not follower.ended()
    run.go("go.1")
    assert run.wait().rc == 0 and follower.wait(10).rc == 0
    assert follower.out() == "[0] round 0\n[0] round 1\n"


def test_a_job_without_log_files(job, ask):
    run = job(WAIT, "--rdzv-id=night")
    run.ready(2)
    result = ask("logs")
    assert result.rc == 1 and result.err.startswith("dlaunch: logs: job night has no log files on this node, expected -r")
    run.go()
    run.wait()


def test_stop_gives_the_workers_their_grace(job, ask):
    run = job("trap 'echo bye $RANK; exit 0' TERM\nready\nuntil false; do sleep 0.05; done\n", "--rdzv-id=night")
    run.ready(2)
    assert ask("stop", "night").rc == 0
    assert run.wait(5).rc == 143 and sorted(run.out().splitlines()) == ["bye 0", "bye 1"]


def test_several_jobs_need_a_name(job, ask):
    runs = [job("echo out $RANK\nexec sleep $TEST_RUN_MARK\n", f"--rdzv-id={name}", workers=1) for name in ("night", "day")]
    until(lambda: all("out 0" in run.out() for run in runs), 10, "both jobs")
    result = ask("stop")
    assert result.rc == 2 and len(result.err.splitlines()) == 1
    assert all(f"{name} (pid {run.pid})" in result.err for name, run in zip(("night", "day"), runs))
    assert not any(run.ended() for run in runs)
    assert ask("stop", runs[0].pid).rc == 0 and runs[0].wait(5).rc == 143
    assert ask("stop").rc == 0 and runs[1].wait(5).rc == 143


def test_a_suspended_agent_does_not_keep_others_from_being_listed(job, ask):
    runs = [job("echo out $RANK\nexec sleep $TEST_RUN_MARK\n", f"--rdzv-id={name}", workers=1) for name in ("night", "day")]
    until(lambda: all("out 0" in run.out() for run in runs), 10, "both jobs")
    os.kill(runs[0].agent(), signal.SIGSTOP)
    listed = ask("ps").out
    assert f"{runs[0].pid}  not responding" in " ".join(listed.split(" ")) and "day" in listed
    os.kill(runs[0].agent(), signal.SIGCONT)
    assert "night" in ask("ps").out


def test_a_front_end_stands_for_all_of_its_nodes(start, ask, shell_worker):
    run = start("--hosts=a,b", "--launcher=fork", "--nproc-per-node=1", "--no-python", shell_worker(WAIT))
    run.ready(2)
    head, row = ask("ps").out.splitlines()
    assert f" {run.pid} " in row and "2 of 2" in row
    assert ask("status").out.count("process:") == 3
    assert ask("stop").rc == 0 and run.wait(10).rc == 143


@pytest.mark.parametrize("command", ["status", "logs", "stop"])
def test_an_unknown_job_is_named(ask, command):
    result = ask(command, "no-such-job")
    assert result.rc == 1
    assert result.err == f"dlaunch: {command}: no job no-such-job of yours runs on this node; dlaunch ps lists those that do\n"


def test_wrong_words(ask):
    result = ask("ps", "aux")
    assert result.rc == 2 and result.err == "dlaunch: ps: aux, expected what dlaunch ps --help shows\n"
    assert ask("stop", "--help").out.startswith("Usage: dlaunch stop [JOB]\n")
