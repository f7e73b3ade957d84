"""dlaunch token makes a token file; a job reads its token from a file or a variable, and shows it nowhere."""

import json
import os
import stat
import subprocess

import pytest

TOKEN = "xyzzy-is-a-token-of-ours"


@pytest.fixture
def token_file(tmp_path):
    """token_file(text, mode) -> the path of a new token file."""

    def make(text=TOKEN, mode=0o600):
        path = tmp_path / "token"
        path.write_text(text)
        path.chmod(mode)
        return path

    return make


def test_a_new_file_has_one_line_for_its_owner(dlaunch, tmp_path):
    path = tmp_path / "token"
    result = dlaunch("token", path)
    line = path.read_text()
    assert (result.rc, result.out, result.err) == (0, "", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(line) == 44 and line.endswith("\n")
    assert dlaunch(f"--token-file={path}", "true").rc == 0


def test_two_tokens_differ(dlaunch, tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        dlaunch("token", path)
    assert paths[0].read_text() != paths[1].read_text()


def test_a_file_is_not_overwritten(dlaunch, token_file):
    path = token_file()
    result = dlaunch("token", path)
    assert result.rc == 2 and path.read_text() == TOKEN
    assert result.err == f"dlaunch: token: {path}: there is such a file already, expected a new one: a token is never overwritten\n"


@pytest.mark.parametrize("words", [[], [""], ["--force"], ["one", "two"], ["/nonexistent/folder/token"], ["/"]])
def test_wrong_usage_is_one_line(dlaunch, words):
    result = dlaunch("token", *words)
    assert result.rc == 2 and result.err.startswith("dlaunch: token: ") and result.err.count("\n") == 1


@pytest.mark.parametrize("mode, fault", [(0o640, "0640"), (0o602, "0602"), (0o601, "0601")])
def test_a_file_that_others_may_use_is_refused(dlaunch, token_file, mode, fault):
    path = token_file(mode=mode)
    result = dlaunch(f"--token-file={path}", "true")
    assert result.rc == 2
    assert result.err == f"dlaunch: {path}: has mode {fault}, expected 0600: group and others must not read or write it\n"


def test_a_fifo_is_refused_at_once(dlaunch, tmp_path):
    os.mkfifo(tmp_path / "token", 0o600)
    result = dlaunch(f"--token-file={tmp_path}/token", "true")
    assert (result.rc, result.err) == (2, f"dlaunch: {tmp_path}/token: is no regular file\n")


@pytest.mark.parametrize("text", ["", "fifteen-bytes-x\n", "x" * 5000])
def test_a_token_of_another_length_is_refused_and_not_shown(dlaunch, token_file, text):
    for result in (dlaunch(f"--token-file={token_file(text)}", "true"), dlaunch("true", env={"DLAUNCH_TOKEN": text or "x"})):
        assert result.rc == 2 and "expected a token" in result.err and "fifteen" not in result.err


def test_workers_do_not_see_the_variables(dlaunch, token_file):
    environment = {"DLAUNCH_TOKEN": TOKEN, "DLAUNCH_TOKEN_FILE": str(token_file())}
    result = dlaunch("--nproc-per-node=2", "env", env=environment)
    assert result.rc == 0 and "DLAUNCH_TOKEN" not in result.out and TOKEN not in result.out


def test_no_process_of_the_launcher_shows_it(binary, tmp_path):
    """The worker looks at its parent, the agent, and at the agent's parent, the guard."""
    look = 'cat /proc/$PPID/environ /proc/$PPID/cmdline; g=$(cut -d" " -f4 /proc/$PPID/stat); cat /proc/$g/environ /proc/$g/cmdline'
    environment = {**os.environ, "DLAUNCH_TOKEN": TOKEN, "SEEN_HERE": "yes"}
    shown = subprocess.run([binary, "sh", "-c", look], env=environment, capture_output=True, check=True, timeout=60).stdout
    assert shown.count(b"SEEN_HERE=yes") == 2 and TOKEN.encode() not in shown


def test_the_plan_says_only_that_there_is_one(dlaunch, token_file):
    result = dlaunch("--dry-run", f"--token-file={token_file()}", "true")
    assert json.loads(result.out)["rendezvous"]["token"] is True and TOKEN not in result.out


def test_one_node_serves_its_workers_on_loopback_only(dlaunch, token_file):
    words = ["--nnodes=1", "--rdzv-backend=c10d", "--rdzv-endpoint=0.0.0.0:0"]
    result = dlaunch(*words, f"--token-file={token_file()}", "sh", "-c", 'echo "$MASTER_ADDR"')
    assert (result.rc, result.out) == (0, "127.0.0.1\n")
