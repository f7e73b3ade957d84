"""What goes along from the front end to the nodes, and what stays."""

import json
import sys

import pytest

TELL = f"#!{sys.executable} -SE\nimport json, os, sys\nprint(json.dumps([dict(os.environ), os.getcwd(), sys.argv[1:]]))\n"


@pytest.fixture
def told(dlaunch, fake_ssh, script):
    def told_(*options, args=(), env=None, cwd=None):
        program = script("tell", TELL)
        result = dlaunch("--hosts=na,nb", *options, "--no-python", program, *args, env={**fake_ssh.env, **(env or {})}, cwd=cwd)
        assert result.rc == 0, result.err
        return [json.loads(line) for line in result.out.splitlines()]

    return told_


def test_variables_folder_and_arguments_go_along(told, tmp_path):
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    words = ["", "a b", "$HOME", "line\nbreak", "'", "--", "%h"]
    for variables, where, arguments in told(args=words, env={"MINE": "1\n2", "EMPTY": ""}, cwd=folder):
        assert variables["MINE"] == "1\n2" and variables["EMPTY"] == "" and where == str(folder) and arguments == words


def test_variables_of_host_and_session_stay(told):
    for variables, _, _ in told(env={"SSH_TTY": "/dev/pts/9", "DISPLAY": ":9", "SLURM_JOB_ID": "9", "RANK": "9", "TMUX": "9"}):
        assert not {"SSH_TTY", "DISPLAY", "SLURM_JOB_ID", "TMUX"} & set(variables) and variables["RANK"] in "01"


def test_a_node_keeps_its_files_in_its_own_temporary_folder(told, fake_ssh, tmp_path):
    folder = tmp_path / "of the front end"
    folder.mkdir()
    for variables, _, _ in told(env={"TMPDIR": str(folder)}):
        assert variables["TMPDIR"] == str(folder) and variables["TORCHELASTIC_ERROR_FILE"].startswith(f"{fake_ssh.folder}/")


def test_export_none_keeps_the_environment_of_the_node(told):
    found = [variables for variables, _, _ in told("--export=NONE", "--env=SET=x", env={"MINE": "1"})]
    assert sorted(each["OF_THE_NODE"] for each in found) == ["na", "nb"]
    assert all("MINE" not in each and each["SET"] == "x" for each in found)


def test_export_takes_names_and_values(told):
    for variables, _, _ in told("--export=MINE,SET=a=b c", env={"MINE": "1", "OTHER": "2"}):
        assert (variables["MINE"], variables["SET"], variables.get("OTHER")) == ("1", "a=b c", None)


def test_the_command_on_the_host_tells_nothing(told, fake_ssh):
    told("--env=PASSWORD=hunter2", args=["--api-key=s3cr3t"], env={"LICENSE": "l1c3ns3"})
    for call in fake_ssh.calls():
        assert " agent " in call["command"] and not any(word in str(call) for word in ("hunter2", "s3cr3t", "l1c3ns3"))
