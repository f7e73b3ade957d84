"""PET_ variables, with which Kubernetes operators configure torchrun."""

from logs import text_of


def test_number_of_workers(dlaunch, shell_worker):
    result = dlaunch(shell_worker("echo $WORLD_SIZE\n"), env={"PET_NPROC_PER_NODE": 3, "PET_NO_PYTHON": 1})
    assert result.out.split() == ["3"] * 3


def test_the_command_line_wins(dlaunch, shell_worker):
    assert (
        dlaunch("--nproc-per-node=2", shell_worker("echo $WORLD_SIZE\n"), env={"PET_NPROC_PER_NODE": 3}).out.split()
        == ["2"] * 2
    )


def test_dlaunch_variables_override_pet_variables(dlaunch, shell_worker):
    env = {"PET_ROLE": "theirs", "DLAUNCH_ROLE": "ours"}
    assert dlaunch(shell_worker("echo $ROLE_NAME\n"), env=env).out == "ours\n"


def test_logs(dlaunch, shell_worker, tmp_path):
    env = {"PET_REDIRECTS": 1, "PET_LOG_DIR": tmp_path / "logs"}
    assert dlaunch("--log-line-prefix-template=unused", shell_worker("echo word\n"), env=env).out == ""
    assert text_of(tmp_path / "logs", "stdout.log") == "word\n"


def test_restarts(dlaunch, shell_worker):
    env = {"PET_MAX_RESTARTS": 1}
    assert dlaunch(shell_worker("[ $TORCHELASTIC_RESTART_COUNT = 1 ]\n"), env=env).rc == 0


def test_a_bad_value_names_the_variable(dlaunch):
    result = dlaunch("true", env={"PET_NPROC_PER_NODE": "many"})
    assert result.rc == 2 and "PET_NPROC_PER_NODE" in result.first_line and "many" in result.first_line


def test_the_prefix(dlaunch, shell_worker, tmp_path):
    env = {"PET_LOG_LINE_PREFIX_TEMPLATE": "<${rank}>", "PET_TEE": 1, "PET_LOG_DIR": tmp_path, "PET_NPROC_PER_NODE": 2}
    result = dlaunch(shell_worker("echo word\n"), env=env)
    assert sorted(result.out.splitlines()) == ["<0>word", "<1>word"]
