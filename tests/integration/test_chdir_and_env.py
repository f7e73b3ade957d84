"""--chdir and --env."""


def test_the_working_folder(dlaunch, tmp_path, shell_worker):
    (tmp_path / "there").mkdir()
    assert dlaunch(f"--chdir={tmp_path}/there", "--no-python", "pwd").out == f"{tmp_path}/there\n"


def test_a_relative_program_is_looked_up_there(dlaunch, tmp_path, script):
    (tmp_path / "there").mkdir()
    script("there/tool", "#!/bin/sh\necho from there\n")
    assert dlaunch("--chdir=there", "--no-python", "./tool").out == "from there\n"


def test_variables(dlaunch):
    result = dlaunch("--env=A=1", "--env", "B=two = words", "--env=A=3", "--no-python", "sh", "-c", 'echo "$A|$B"')
    assert result.out == "3|two = words\n"


def test_an_empty_variable(dlaunch):
    assert dlaunch("--env=HOME=", "--no-python", "sh", "-c", 'echo "<${HOME-unset}>"').out == "<>\n"


def test_an_invalid_variable_is_refused(dlaunch):
    result = dlaunch("--env==x", "--no-python", "true")
    assert result.rc == 2 and "--env" in result.first_line and "expected" in result.first_line


def test_the_last_value_of_a_variable_applies(dlaunch):
    result = dlaunch("--env=DL_A=1", "--env=DL_A=2", "--no-python", "cat", "/proc/self/environ")
    assert [entry for entry in result.out.split("\0") if entry.startswith("DL_A=")] == ["DL_A=2"]


def test_the_workers_devices_count(dlaunch):
    words = ("--virtual-local-rank", "--nproc-per-node=2", "--no-python", "printenv", "CUDA_VISIBLE_DEVICES")
    result = dlaunch("--env=CUDA_VISIBLE_DEVICES=6, 7", *words, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert sorted(result.out.splitlines()) == ["6", "7"]
    assert dlaunch("--env=CUDA_VISIBLE_DEVICES=0", *words).rc == 2
