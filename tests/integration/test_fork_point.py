"""--start-method=fork: the program runs once to its dlaunch::fork_point(), and each worker of each round is a fork of it."""

import os
import signal

import pytest

from forked import first_message, lines, program  # noqa: F401


def test_one_start_for_all_ranks(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", program)
    assert result.rc == 0, result.err
    assert sorted(result.out.splitlines()) == [*(f"rank {rank} of 3" for rank in range(3)), "written once"]
    ((template, rank),) = lines(seen / "prepared")
    assert rank == "-", "the template has no rank"
    for rank in range(3):
        ((_, prepared, _, leads, asked),) = lines(seen / f"worker.{rank}")
        assert prepared == template and leads == "1" and asked == "-"


def test_workers_are_the_agents_children(start, program, seen):
    run = start("--start-method=fork", "--nproc-per-node=2", program, "waits")
    run.ready(2)
    assert {lines(seen / f"worker.{rank}")[0][2] for rank in range(2)} == {str(run.agent())}
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143
    run.nothing_left()


def test_a_restart_forks_again(dlaunch, program, seen):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=1", program, "fails")
    assert result.rc == 0 and "not this time" in result.err
    assert len(lines(seen / "prepared")) == 1
    assert [line[0] for line in lines(seen / "worker.1")] == ["0", "1"]


def test_forked_workers_form_a_process_group(dlaunch, program):
    result = dlaunch("--start-method=fork", "--nproc-per-node=3", program, "sums")
    assert result.rc == 0 and result.out.count("sum 6\n") == 3


def test_exit_codes_and_stderr_tails(dlaunch, program):
    assert dlaunch("--start-method=fork", "--nproc-per-node=1", program, "code").rc == 40
    result = dlaunch("--start-method=fork", "--nproc-per-node=1", program, "segfaults")
    assert result.rc == 128 + signal.SIGSEGV and "killed by SIGSEGV" in first_message(result)
    assert "Segmentation fault" in result.err, "its record is in its own error file"


def test_standard_input_logs_and_binding_are_the_workers_own(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--stdin=1", "-r3", f"--log-dir={tmp_path}/logs", "--bind=cores",
                     "--nproc-per-node=2", program, "reads", stdin="a word")  # fmt: skip
    assert result.rc == 0, result.err
    output = {path.parent.name: path.read_text() for path in tmp_path.glob("logs/**/attempt_0/*/stdout.log") if not path.parent.is_symlink()}
    assert "read nothing" in output["0"] and "read a word" in output["1"]


def test_a_missing_program(dlaunch):
    assert dlaunch("--start-method=fork", "./no-such-program").rc == 127


@pytest.mark.parametrize("process", ["guard", "agent"])
def test_nothing_outlives_a_killed_dlaunch(start, program, process):
    run = start("--start-method=fork", "--nproc-per-node=2", program, "waits")
    run.ready(2)
    os.kill(run.pid if process == "guard" else run.agent(), signal.SIGKILL)
    run.wait()
    run.nothing_left(5)


@pytest.mark.parametrize("how", ["waits", "waits, heavy"])
def test_a_killed_template_is_started_again(start, program, seen, how):
    run = start("--start-method=fork", "--nproc-per-node=2", "--max-restarts=1", program, how)
    pids = run.ready(2)
    os.kill(int(lines(seen / "prepared")[0][0]), signal.SIGKILL)
    os.kill(pids[0], signal.SIGKILL)
    while not (seen / "worker.0").exists() or len(lines(seen / "worker.0")) < 2:
        assert not run.ended(), run.err()
    assert len(lines(seen / "prepared")) == 2
    run.signal(signal.SIGTERM)
    assert run.wait().rc == 143


def test_scripts_are_executed_without_a_template(dlaunch, script):
    path = script("program.py", "import os\nprint(os.environ['RANK'])\n")
    assert sorted(dlaunch("--start-method=fork", "--nproc-per-node=2", path).out.split()) == ["0", "1"]


@pytest.mark.parametrize("options", [["--pass-local-rank", "true"], ["--wrap=0:env", "true"], ["true", "${local_rank}"]])
def test_limits_of_one_start(dlaunch, options):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", *options)
    assert result.rc == 2 and "--start-method=fork: expected spawn" in result.err


def test_without_the_option_it_does_nothing(dlaunch, program, seen):
    assert dlaunch("--nproc-per-node=2", program).rc == 0
    assert len(lines(seen / "prepared")) == 2
