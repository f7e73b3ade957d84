"""--config: key = value lines, below the environment and above the defaults."""

import os
import threading

import pytest


@pytest.fixture
def config(tmp_path):
    def config_(text):
        (tmp_path / "job.conf").write_text(text)
        return f"--config={tmp_path}/job.conf"

    return config_


def roles(result):
    assert result.rc == 0, result.err
    return result.out.split()


SAY = ["--no-python", "sh", "-c", "echo $ROLE_NAME"]


def test_it_sets_options(dlaunch, config):
    assert roles(dlaunch(config('# a job\nnproc_per_node = 2\nrole = "filed"\n'), *SAY)) == ["filed"] * 2


def test_variables_and_the_command_line_win(dlaunch, config):
    option = config("role = file\n")
    assert roles(dlaunch(option, *SAY, env={"PET_ROLE": "pet"})) == ["pet"]
    assert roles(dlaunch(option, *SAY, env={"PET_ROLE": "pet", "DLAUNCH_ROLE": "own"})) == ["own"]
    assert roles(dlaunch(option, "--role=line", *SAY, env={"DLAUNCH_ROLE": "own"})) == ["line"]


def test_arrays_of_variables(dlaunch, config):
    result = dlaunch(config('env = ["A=1,2", "B=x # y"]\n'), "--no-python", "sh", "-c", 'echo "$A $B"')
    assert (result.rc, result.out) == (0, "1,2 x # y\n")


def test_it_may_be_a_pipe(dlaunch, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("role=piped\n"))
    writer.start()
    result = dlaunch(f"--config={tmp_path}/pipe", *SAY)
    writer.join()
    assert roles(result) == ["piped"]


def test_it_may_be_substituted_by_a_shell(start, binary):
    words = f"exec {binary} --config <(sleep 0.1; echo role=piped) " + "--no-python sh -c 'echo $ROLE_NAME'"
    assert roles(start("-c", words, program="bash").wait()) == ["piped"]


def test_a_pipe_without_a_writer(dlaunch, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = dlaunch(f"--config={tmp_path}/pipe", *SAY, timeout=10)
    assert result.rc == 2 and "FIFO without a writer" in result.err and len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    "text, named",
    [
        ("role=a\nno-such-key=3\n", "job.conf:2: unknown key no-such-key"),
        ("[section]\nrole=a\n", "job.conf:1: section [section]"),
        ("tee=7\n", "job.conf:1: tee=7"),
        ("nproc-per-mode=3\n", "did you mean nproc-per-node?"),
    ],
)
def test_it_is_strict(dlaunch, config, text, named):
    result = dlaunch(config(text), "--no-python", "true")
    assert result.rc == 2 and named in result.err and len(result.err.splitlines()) == 1


@pytest.mark.parametrize("path", ["nowhere.conf", "."])
def test_a_file_that_cannot_be_read(dlaunch, tmp_path, path):
    result = dlaunch(f"--config={tmp_path}/{path}", "--no-python", "true")
    assert result.rc == 2 and f"{tmp_path}/{path}" in result.err and len(result.err.splitlines()) == 1
