"""Rank 0 of an MPI job reads standard input, as under mpiexec."""

import pytest

pytest.importorskip("pexpect")

READ = 'echo "$RANK read $(cat | tr "\\n" ,)"\n'
PLACES = [["-n", "3"], ["--launcher=fork", "--hosts=a:2,b:1"]]


@pytest.mark.parametrize("where", PLACES, ids=["one node", "hosts"])
@pytest.mark.parametrize("mpi, reader", [("pmi1", 0), ("none", None)])
def test_rank_0_reads(dlaunch, shell_worker, where, mpi, reader):
    result = dlaunch(*where, f"--mpi={mpi}", "--no-python", shell_worker(READ), stdin="a\nb\n")
    assert sorted(result.out.splitlines()) == [f"{rank} read {'a,b,' if rank == reader else ''}" for rank in range(3)]


@pytest.mark.parametrize("where", PLACES, ids=["one node", "hosts"])
@pytest.mark.parametrize("stdin, readers", [("none", []), ("1", [1]), ("all", [0, 1, 2])])
def test_the_user_chooses_the_readers(dlaunch, shell_worker, where, stdin, readers):
    result = dlaunch(*where, "--mpi=pmi1", "--no-python", shell_worker(READ), stdin="a\n", env={"DLAUNCH_STDIN": stdin})
    assert sorted(result.out.splitlines()) == [f"{rank} read {'a,' if rank in readers else ''}" for rank in range(3)]


def test_much_for_rank_0(dlaunch):
    text = b"0123456789abcde\n" * 100_000
    result = dlaunch("--launcher=fork", "--hosts=a:2,b:1", "--mpi=pmi1", "--no-python", "sh", "-c",
                     "[ $RANK != 0 ] || wc -c", stdin=text)
    assert (result.rc, result.out) == (0, f"{len(text)}\n")


@pytest.mark.parametrize("where", PLACES, ids=["one node", "hosts"])
def test_what_is_typed_reaches_rank_0(terminal, shell_worker, where):
    tty = terminal(*where, "--mpi=pmi1", "--no-python",
                   shell_worker('ready\n[ $RANK = 0 ] || exit 0\nread -r a\necho "got $a"\n'))
    tty.ready(3)
    tty.line("hello")
    tty.expect("got hello")
    assert tty.finish()[0] == 0


@pytest.mark.parametrize("where", PLACES, ids=["one node", "hosts"])
def test_the_background_stops_no_job_that_does_not_read(at_a_shell, shell_worker, seen, where):
    shell = at_a_shell(*where, "--mpi=pmi1", "--no-python",
                       shell_worker("ready\nawait go\necho through $RANK\n"), then="&")
    shell.ready(3)
    shell.line("echo answer$((1))")
    shell.expect("answer1\r")
    (seen / "go").touch()
    shell.line("wait; echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"


def test_in_the_background_of_one_node_it_is_at_its_end(at_a_shell, shell_worker):
    shell = at_a_shell("-n", "2", "--mpi=pmi1", "--no-python", shell_worker("ready\nexec cat\n"), then="&")
    shell.ready(2)
    shell.line("wait; echo status=$?")
    assert shell.expect(r"status=(\d+)\r")[1] == "0"
