"""Output before dlaunch::fork_point() belongs to the template: it is shown like workers' output, with `template` for the
rank, and has log files of its own."""

from forked import program  # noqa: F401


def test_with_a_prefix(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "-t3", f"--log-dir={tmp_path}/logs", program)
    assert sorted(result.out.splitlines()) == ["[default0]:rank 0 of 2", "[default1]:rank 1 of 2", "[template]:written once"]
    assert result.err.splitlines()[0] == "[template]:warned once"
    folder = tmp_path / "logs/latest/attempt_0"
    assert (folder / "template/stdout.log").read_text() == "written once\n"
    assert (folder / "template/stderr.log").read_text() == "warned once\n"
    assert (folder / "0/stdout.log").read_text() == "rank 0 of 2\n"
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1", "by-rank", "template"]


def test_only_into_files(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "-r3", f"--log-dir={tmp_path}/logs", program)
    assert result.rc == 0 and "once" not in result.out + result.err
    assert (tmp_path / "logs/latest/attempt_0/template/stdout.log").read_text() == "written once\n"


def test_a_template_of_its_own_prefix(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "-t3", f"--log-dir={tmp_path}/logs",
                     "--log-line-prefix-template=<$rank> ", program)  # fmt: skip
    assert sorted(result.out.splitlines()) == ["<0> rank 0 of 2", "<1> rank 1 of 2", "<template> written once"]


def test_a_filter_that_hides_ranks_shows_the_template(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--local-ranks-filter=1", program)
    assert sorted(result.out.splitlines()) == ["rank 1 of 2", "written once"]


def test_it_is_not_folded_and_delays_no_other_output(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--fold", "-t3", f"--log-dir={tmp_path}/logs", program)
    assert sorted(result.out.splitlines()) == ["[default0]:rank 0 of 2", "[default1]:rank 1 of 2", "[template]:written once"]


def test_a_new_template_has_files_of_its_own(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "--max-restarts=1", "-r3", f"--log-dir={tmp_path}/logs",
                     program, "kills-template")  # fmt: skip
    assert result.rc == 0
    for attempt in range(2):
        assert (tmp_path / f"logs/latest/attempt_{attempt}/template/stderr.log").read_text() == "warned once\n"


def test_files_of_a_template_that_failed_are_named(dlaunch, program, tmp_path):
    result = dlaunch("--start-method=fork", "--nproc-per-node=2", "-r3", f"--log-dir={tmp_path}/logs", program, "ends")
    assert "/latest/attempt_0/template/\n" in result.err and "warned once" in result.err
