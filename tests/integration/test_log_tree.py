"""The tree of log files and its links."""

import socket

import pytest

SAY = "echo out $RANK\n"


def test_the_latest_run_has_a_link(dlaunch, shell_worker, tmp_path):
    logs = tmp_path / "deep/er/logs"
    for text in ("first", "second"):
        assert dlaunch("-r", "1", f"--log-dir={logs}", "--no-python", shell_worker(f"echo {text}\n")).rc == 0
    assert (logs / "latest").is_symlink() and (logs / "latest/attempt_0/0/stdout.log").read_text() == "second\n"
    assert len([path for path in logs.iterdir() if not path.is_symlink()]) == 2


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_an_unrelated_file_in_place_of_the_link_is_kept(dlaunch, shell_worker, tmp_path, kind):
    (tmp_path / "logs").mkdir()
    taken = tmp_path / "logs/latest"
    taken.mkdir() if kind == "folder" else taken.write_text("mine")
    words = ["-r", "1", f"--log-dir={tmp_path}/logs", "--no-python", shell_worker("echo here\n")]
    result = dlaunch("--nproc-per-node=2", *words)
    assert result.rc == 0 and taken.is_dir() == (kind == "folder") and not taken.is_symlink()
    assert result.err == f"dlaunch: log directory: File exists ({taken}); there is no link to the latest run\n"
    assert len(list((tmp_path / "logs").glob("*/attempt_0/*/stdout.log"))) == 2


def test_links_name_rank_and_host(dlaunch, shell_worker, tmp_path):
    assert (
        dlaunch("--nproc-per-node=2", "-r", "1", f"--log-dir={tmp_path}/logs", "--no-python", shell_worker(SAY)).rc == 0
    )
    links = tmp_path / "logs/latest/attempt_0/by-rank"
    assert sorted(path.name for path in links.iterdir()) == [f"{rank}-{socket.gethostname()}" for rank in range(2)]
    assert (links / f"1-{socket.gethostname()}/stdout.log").read_text() == "out 1\n"


def test_the_run_is_named_after_the_job(dlaunch, shell_worker, tmp_path):
    words = ["--master-port=29418", "--rdzv-id=night/run 7", "-r", "1", f"--log-dir={tmp_path}/logs"]
    assert dlaunch(*words, "--no-python", shell_worker(SAY)).rc == 0
    (run,) = [path for path in (tmp_path / "logs").iterdir() if not path.is_symlink()]
    assert "night" in run.name and "7" in run.name and (run / "attempt_0/0/stdout.log").is_file()


def test_without_a_folder_logs_are_in_the_temporary_folder(dlaunch, shell_worker, tmpdir_of_job):
    assert dlaunch("-r", "1", "--no-python", shell_worker(SAY)).rc == 0
    assert [
        path.read_text() for path in tmpdir_of_job.rglob("attempt_0/0/stdout.log") if "latest" not in path.parts
    ] == ["out 0\n"]


def test_error_files_have_a_place_in_it(dlaunch, shell_worker, tmp_path):
    result = dlaunch(
        "-r", "1", f"--log-dir={tmp_path}/logs", "--no-python", shell_worker("echo $TORCHELASTIC_ERROR_FILE\n")
    )
    assert result.rc == 0
    path = (tmp_path / "logs/latest/attempt_0/0/stdout.log").read_text().strip()
    assert path.startswith(f"{tmp_path}/logs/") and path.endswith("/attempt_0/0/error.json")


def test_a_link_that_leads_nowhere(dlaunch, tmp_path):
    (tmp_path / "logs").symlink_to("nowhere")
    result = dlaunch("-r", "1", f"--log-dir={tmp_path}/logs", "--no-python", "true")
    assert result.rc == 2 and "logs: No such file or directory" in result.first_line


def test_a_folder_that_cannot_be_made(dlaunch, shell_worker, tmp_path, seen):
    (tmp_path / "file").write_text("")
    result = dlaunch(
        "-r", "1", f"--log-dir={tmp_path}/file/logs", "--no-python", shell_worker('touch "$SEEN/started"\n')
    )
    assert result.rc == 2 and f"{tmp_path}/file" in result.first_line and not (seen / "started").exists()
