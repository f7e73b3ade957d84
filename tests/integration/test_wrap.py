"""--wrap: chosen ranks run under a tool."""


def test_chosen_ranks_only(dlaunch, shell_worker):
    result = dlaunch(
        "--nproc-per-node=4",
        "--wrap=0,2-3:env WRAPPED=yes",
        "--no-python",
        shell_worker('echo "$RANK ${WRAPPED:-no}"\n'),
    )
    assert sorted(result.out.splitlines()) == ["0 yes", "1 no", "2 yes", "3 yes"]


def test_the_rank_in_the_tools_arguments(dlaunch, shell_worker):
    result = dlaunch(
        "--nproc-per-node=2",
        "--wrap",
        "all:env OUTPUT=out.${rank}.${local_rank}",
        "--no-python",
        shell_worker("echo $OUTPUT\n"),
    )
    assert sorted(result.out.splitlines()) == ["out.0.0", "out.1.1"]


def test_two_tools_and_quoted_arguments(dlaunch, shell_worker):
    wraps = ["--wrap", "0:env 'NAME=of two words'", "--wrap", '1:env "NAME=of three more words"']
    result = dlaunch("--nproc-per-node=2", *wraps, "--no-python", shell_worker("echo $NAME\n"))
    assert sorted(result.out.splitlines()) == ["of three more words", "of two words"]


def test_a_tool_for_a_python_script(dlaunch, script):
    program = script("program.py", "import os\nprint(os.environ.get('WRAPPED'))\n")
    assert sorted(dlaunch("--nproc-per-node=2", "--wrap=1:env WRAPPED=yes", program).out.split()) == ["None", "yes"]


def test_a_tool_that_is_missing(dlaunch):
    result = dlaunch("--nproc-per-node=2", "--wrap=1:no-such-tool", "--no-python", "true")
    assert result.rc == 127 and "rank 1" in result.first_line and "no-such-tool" in result.first_line


def test_a_rank_that_no_host_has(dlaunch):
    result = dlaunch("--launcher=fork", "--hosts=a,b", "--wrap", "7:nice", "--no-python", "true")
    assert (result.rc, result.err) == (0, "dlaunch: --wrap: there is no rank 7 of this program to run under nice\n")
