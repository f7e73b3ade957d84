"""--no-python: the program is executed directly."""


def test_a_shell_script_with_arguments(dlaunch, shell_worker):
    result = dlaunch("--nproc-per-node=2", "--no-python", shell_worker('echo "$RANK: $# <$1> <$2>"\n'), "two words", "")
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0: 2 <two words> <>", "1: 2 <two words> <>"]


def test_a_program_from_the_path(dlaunch):
    assert dlaunch("--no-python", "echo", "-n", "word").out == "word"


def test_a_script_named_py_is_executed_as_it_is(dlaunch, script):
    assert dlaunch("--no-python", script("tool.py", "#!/bin/sh\necho a shell\n")).out == "a shell\n"


def test_options_may_have_underscores(dlaunch, shell_worker):
    assert dlaunch("--nproc_per_node=2", "--no_python", shell_worker("echo word\n")).out == "word\nword\n"
