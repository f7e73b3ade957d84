"""`exec dlaunch` in a script makes the script's children children of dlaunch, which must not kill them."""

from processes import until


def test_a_child_from_before_exec_runs_on(dlaunch, tmp_path):
    """The usual way to log a job's output: a process substitution and exec."""
    log = tmp_path / "log"
    reader = f"env -u TEST_RUN_MARK sh -c 'while read -r line; do echo kept $line; done > {log}.part; mv {log}.part {log}'"
    result = dlaunch("--nproc-per-node=2", "--no-python", "echo", "word", prefix=("bash", "-c", f'exec "$@" > >({reader})', "bash"))
    assert result.rc == 0
    until(log.exists, 10, "the reader's end")
    assert log.read_text() == "kept word\n" * 2
