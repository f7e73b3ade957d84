"""Options of other launchers, and options without effect."""


def test_one_line_for_an_option_without_effect(dlaunch):
    result = dlaunch("--rotate", "1K", "--nproc-per-node=2", "true")
    assert (result.rc, result.err) == (0, "dlaunch: --rotate=1K has no effect without log files: add -r 3 or -t 3\n")


def test_a_view_needs_a_terminal(dlaunch):
    result = dlaunch("--ui=live", "--nproc-per-node=2", "true")
    assert (result.rc, result.err) == (0, "dlaunch: --ui=live has no effect without a terminal for standard output and error\n")


def test_a_hint_for_an_option_of_mpiexec(dlaunch):
    result = dlaunch("-report-bindings", "true")
    expected = "dlaunch: unknown option -report-bindings, expected an option of dlaunch --help; --dry-run shows ranks and processors\n"
    assert (result.rc, result.err) == (2, expected)


def test_a_hint_for_the_time_stamps_of_mpiexec(dlaunch):
    for option, hint in (("--timestamp-output", "--timestamps"), ("-pernode", "--nproc-per-node=1")):
        result = dlaunch(option, "true")
        assert result.rc == 2 and result.err.endswith(f"; did you mean {hint}?\n"), result.err
