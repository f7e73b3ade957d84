"""126 and 127: reported at once with the exact reason, without spending a restart."""

import pytest

CASES = {
    "missing": (127, "No such file"),
    "no run bit": (126, "Permission denied"),
    "a folder": (126, ""),
    "no program": (126, "Exec format"),
    "no interpreter": (127, ""),
}


@pytest.mark.parametrize("fault", CASES)
def test_reason_and_status(dlaunch, tmp_path, fault):
    program = tmp_path / "program"
    if fault == "a folder":
        program.mkdir()
    elif fault != "missing":
        program.write_bytes(
            {"no program": b"\x7fELF, but not really", "no interpreter": b"#!/no/such/interpreter\n"}.get(
                fault, b"#!/bin/sh\n"
            )
        )
        program.chmod(0o644 if fault == "no run bit" else 0o755)
    result = dlaunch(
        "--nproc-per-node=3", "--max-restarts=5", f"--report={tmp_path}/report.json", "--no-python", program
    )
    status, reason = CASES[fault]
    assert result.rc == status and "program" in result.err and reason in result.err and "rank 0" in result.first_line
    assert result.seconds < 5 and '"restarts": 0' in (tmp_path / "report.json").read_text().replace('":0', '": 0')


def test_a_worker_that_never_ran_its_program_has_no_exit_status(dlaunch, tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF, but not really")
    program.chmod(0o755)
    for _ in range(8):
        result = dlaunch("--launcher=fork", "--hosts=a:2,b:2", "--no-python", program)
        assert result.rc == 126 and "exited with" not in result.err, result.err


def test_a_name_outside_the_path(dlaunch):
    result = dlaunch("--no-python", "there-is-no-such-program")
    assert result.rc == 127 and "there-is-no-such-program" in result.first_line and "did you mean" not in result.err


@pytest.mark.parametrize("typo, meant", [("chek", "check"), ("stor", "store"), ("backend", "backends")])
def test_a_mistyped_command(dlaunch, typo, meant):
    result = dlaunch(typo, "--nnodes=2")
    assert result.rc == 127 and f"{typo}: not in PATH; did you mean dlaunch {meant}?" in result.first_line


def test_a_missing_tool_is_no_mistyped_command(dlaunch):
    result = dlaunch("--wrap=0:there-is-no-such-tool", "chek")
    assert result.rc == 127 and "there-is-no-such-tool" in result.first_line and "did you mean" not in result.err


def test_a_missing_working_folder(dlaunch):
    result = dlaunch("--chdir=/no/such/folder", "--no-python", "true")
    assert result.rc != 0 and "/no/such/folder" in result.err and "No such file or directory" in result.err


def test_python_reports_the_missing_script_of_a_lone_worker(dlaunch):
    result = dlaunch("no/such/script.py")
    assert result.rc == 2 and "can't open file" in result.err and "no/such/script.py" in result.err


def test_a_script_in_the_workers_directory(dlaunch, script, tmp_path):
    (tmp_path / "there").mkdir()
    script("there/program.py", "print('here')\n")
    assert dlaunch(f"--chdir={tmp_path}/there", "program.py", cwd="/").out == "here\n"
