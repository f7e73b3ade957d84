"""Bad input is one line on stderr, status 2, and nothing is started."""

import pytest


@pytest.fixture
def refused(dlaunch, tmp_path):
    """refused(*options) -> the line on stderr; asserts that the program did not run."""

    def refused_(*options, **more):
        result = dlaunch(*options, "--no-python", "touch", tmp_path / "made", **more)
        assert result.rc == 2 and result.out == "" and not (tmp_path / "made").exists()
        (line,) = result.err.splitlines()
        assert line.startswith("dlaunch: ") and "expected" in line
        return line

    return refused_


@pytest.mark.parametrize(
    "option",
    [
        "--nproc-per-node=0",
        "--nproc-per-node=-1",
        "--nproc-per-node=",
        "--nproc-per-node=99999999999999999999",
        "--nproc-per-node=gpu",
        "--nnodes=3:2",
        "--nnodes=0",
        "--max-restarts=-1",
        "--master-port=0",
        "--master-port=http",
        "--rdzv-backend=zookeeper",
        "--rdzv-endpoint=127.0.0.1:notaport",
        "--rdzv-conf=join_timeout",
        "--rdzv-conf=is_host=perhaps",
        "--redirects=0:9",
        "--tee=0:1,",
        "--local-ranks-filter=a",
        "--shutdown-timeout=-1",
        "--grace=soon",
        "--stop-signal=SIGNOPE",
        "--start-method=thread",
        "--bind=moon",
        "--stdin=1",
        "--wrap=gdb",
        "--env=NAME",
        "--rotate=much",
        "--restart-backoff=5:1",
        "--scale-up=sometimes",
        "--logs-specs=mine",
        "--standalone=maybe",
    ],
)
def test_a_bad_value(refused, option):
    name, _, value = option.partition("=")
    line = refused(option, env={"CUDA_VISIBLE_DEVICES": ""})
    assert name in line and value in line


@pytest.mark.parametrize(
    "typo, meant",
    [
        ("--nproc-per-mode=2", "--nproc-per-node"),
        ("--standalnoe", "--standalone"),
        ("--rdvz_backend=c10d", "--rdzv-backend"),
        ("-nnodes=1", "--nnodes"),
        ("--crash-lop=1", "--crash-loop"),
        ("-nproc=4", "--nproc-per-node"),
    ],
)
def test_a_typo_gets_a_suggestion(refused, typo, meant):
    line = refused(typo)
    assert typo in line and f"did you mean {meant}?" in line


def test_an_ambiguous_abbreviation_lists_its_candidates(refused):
    assert "--rdzv-backend, --rdzv-endpoint, --rdzv-id, --rdzv-conf" in refused("--rdzv=x")


@pytest.mark.parametrize("words", [[], ["--nproc-per-node=2"], ["--"], ["--nproc-per-node"]])
def test_no_program_or_no_value(dlaunch, words):
    result = dlaunch(*words)
    assert result.rc == 2 and result.out == "" and len(result.err.splitlines()) == 1


def test_a_value_with_line_breaks_is_still_one_line(refused):
    assert "a\\nb" in refused("--role=x", "--nproc-per-node=a\nb")


def test_a_bad_variable_is_named(refused):
    assert "PET_NPROC_PER_NODE=many" in refused(env={"PET_NPROC_PER_NODE": "many"})


def test_module_and_no_python_contradict_each_other(refused):
    line = refused("-m")
    assert "-m" in line and "--no-python" in line


@pytest.mark.parametrize("option", ["--report", "--event-log"])
def test_a_file_that_cannot_be_written(refused, tmp_path, option):
    assert str(tmp_path) in refused(f"{option}={tmp_path}")
    assert "nowhere" in refused(f"{option}={tmp_path}/nowhere/file")
