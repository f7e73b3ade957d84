"""Programs side by side, `a : b`: ranks count through them in order, and each role has ranks of its own."""

import pytest

TELL = 'echo "${0##*/} $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE $DLAUNCH_APPNUM $*"\n'


@pytest.fixture
def programs(shell_worker):
    return [shell_worker(TELL, name) for name in ("ps", "worker", "eval.sh")]


def told(result):
    assert result.rc == 0, result.err
    return sorted(result.out.splitlines(), key=lambda line: int(line.split()[1].split("/")[0]))


def test_ranks_and_roles(dlaunch, programs):
    ps, worker, evaluator = programs
    assert told(dlaunch("-n", 1, ps, "a b", ":", "-n", 2, worker, "--lr=1", "--", "-n", "3", ":", evaluator)) == [
        "ps 0/4 0/4 ps 0/1 0 a b",
        "worker 1/4 1/4 worker 0/2 1 --lr=1 -- -n 3",
        "worker 2/4 2/4 worker 1/2 1 --lr=1 -- -n 3",
        "eval.sh 3/4 3/4 eval.sh 0/1 2 ",
    ]


def test_contexts_of_one_role_are_counted_together(dlaunch, programs):
    ps, worker, _ = programs
    words = ("--role=w", ps, ":", "--role=x", worker, ":", "-n", 2, "--role=w", worker)
    assert [line.split()[3:5] for line in told(dlaunch(*words))] == [["w", "0/3"], ["x", "0/1"], ["w", "1/3"], ["w", "2/3"]]


def test_a_script_in_python_has_its_name_without_the_ending(dlaunch, script, programs):
    train = script("train.py", "import os\nprint('py', os.environ['RANK'] + '/', os.environ['ROLE_NAME'])\n")
    assert told(dlaunch(train, ":", programs[0]))[0] == "py 0/ train"


def test_words_that_contain_a_colon_are_arguments(dlaunch, programs):
    assert told(dlaunch(programs[0], "::", "a:", ":b", ""))[0].endswith(" default 0/1 0 :: a: :b ")


def test_under_the_name_torchrun_a_colon_is_an_argument(start, binary, tmp_path, programs):
    (tmp_path / "torchrun").symlink_to(binary)
    run = start("--no-python", programs[0], "a", ":", "b", program=tmp_path / "torchrun")
    assert told(run.wait())[0].endswith(" 0 a : b")


def test_a_prefix_tells_the_roles_apart(dlaunch, programs):
    result = dlaunch("-t", 1, "--log-line-prefix-template=[${role_name} ${rank}] ", "--no-python", programs[0], ":", programs[1])
    assert sorted(line.split("]")[0] for line in result.out.splitlines()) == ["[ps 0", "[worker 1"]


def test_equal_lines_of_two_programs_are_one(dlaunch):
    result = dlaunch("-t", 1, "--fold", "-n", 1, "echo", "x", ":", "-n", 2, "printf", "x\\n")
    assert result.out == "[echo,printf0-2]:x\n"
