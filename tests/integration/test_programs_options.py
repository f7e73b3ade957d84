"""Options of one program and options of the job, where a lone `:` separates programs."""

import json

import pytest


def test_environment_directory_and_tool_are_the_programs_own(dlaunch, shell_worker, tmp_path):
    tell = shell_worker('echo "$RANK ${A:-none} ${B:-none} $PWD ${WRAPPED:-no}"\n')
    (tmp_path / "there").mkdir()
    first = ("--env=A=1", "--env=B=ps", f"--chdir={tmp_path}/there", "--wrap=all:env WRAPPED=yes", tell)
    result = dlaunch(*first, ":", "--env=A=2", tell, ":", "--wrap=3:env WRAPPED=yes", "-n", 2, tell, env={"B": "outside"})
    assert sorted(result.out.splitlines()) == [
        f"0 1 ps {tmp_path}/there yes",
        f"1 2 outside {tmp_path} no",
        f"2 none outside {tmp_path} no",
        f"3 none outside {tmp_path} yes",
    ]


def test_variables_give_the_default_of_every_program(dlaunch, shell_worker):
    tell = shell_worker('echo "$RANK $ROLE_NAME $A"\n')
    result = dlaunch("--no-python", tell, ":", "-n", 1, "--role=y", tell, env={"DLAUNCH_NP": 2, "DLAUNCH_ROLE": "x", "DLAUNCH_ENV": "A=1"})
    assert sorted(result.out.splitlines()) == ["0 x 1", "1 x 1", "2 y 1"]


def test_the_rank_of_standard_input_is_global(dlaunch, shell_worker):
    read = shell_worker('read -r line; echo "$RANK $line"\n')
    result = dlaunch("--stdin=1", "--no-python", read, ":", "-n", 2, read, stdin="typed\n")
    assert sorted(result.out.splitlines()) == ["0 ", "1 typed", "2 "]


def test_a_dlaunch_inside_a_worker_is_a_job_of_its_own(dlaunch, shell_worker, binary):
    """DLAUNCH_APPNUM is a worker's variable, never an option."""
    inner = shell_worker(f'exec {binary} --no-python sh -c \'echo "$ROLE_NAME $DLAUNCH_APPNUM"\'\n')
    result = dlaunch("true", ":", inner)
    assert (result.rc, result.out) == (0, "default 0\n")


def test_the_plan_and_the_report_name_all_programs(dlaunch, tmp_path):
    words = (f"--report={tmp_path}/report", "sleep", 0, ":", "-n", 2, "true")
    plan = json.loads(dlaunch("--dry-run", *words).out)
    assert [(context["role"], context["workers"]) for context in plan["contexts"]] == [("sleep", 1), ("true", 2)]
    assert dlaunch(*words).rc == 0
    report = json.loads((tmp_path / "report").read_text())
    assert report["program"] == "sleep : true" and [worker["role"] for worker in report["workers"]] == ["sleep", "true", "true"]


@pytest.mark.parametrize(
    "words, naming",
    [
        (["true", ":"], "program 2 of 2"),
        ([":", "true"], "program 1 of 2"),
        (["true", ":", ":", "true"], "program 2 of 3"),
        (["true", ":", "-n", "2"], "program 2 of 2"),
        (["-n", "0", "true", ":", "true"], "-n 0"),
        (["true", ":", "-n", "x", "true"], "-n x"),
        (["true", ":", "--max-restats=1", "true"], "--max-restats=1"),
        (["true", ":", "--max-restarts=1", "true"], "--max-restarts=1 after a ':'"),
        (["true", ":", "-n", "1", "--nproc-per-node=1", "true"], "contradict"),
        (["true", ":", ""], "name is empty"),
        (["--start-method=fork", "true", ":", "true"], "--start-method=fork"),
        (["--nnodes=2", "--rdzv-endpoint=localhost", "-n", "1", "true", ":", "-n", "4", "true"], "-n 1"),
    ],
)
def test_bad_input_is_one_line(dlaunch, tmp_path, words, naming):
    result = dlaunch(*[tmp_path / "made" if word == "true" else word for word in words])
    assert result.rc == 2 and result.out == "" and len(result.err.splitlines()) == 1
    assert result.err.startswith("dlaunch: ") and naming in result.err and "expected" in result.err
