"""--stdin=0 at a terminal: a debugger works on that rank, and Ctrl-C reaches that rank."""

import pytest

pytest.importorskip("pexpect")


def test_a_breakpoint(terminal, script):
    program = script(
        "train.py", "import os\nx = 41\nif os.environ['RANK'] == '0':\n    breakpoint()\nprint('after', x + 1)\n"
    )
    tty = terminal("--nproc-per-node=2", "--stdin=0", program)
    tty.expect(r"\(Pdb\) ")
    tty.line("p x * 2")
    tty.expect(r"p x \* 2\r+\n82\r+\n\(Pdb\) ")
    tty.line("x = 1")
    tty.expect(r"\(Pdb\) ")
    tty.line("c")
    tty.expect("after 2")
    assert tty.finish()[0] == 0


def test_an_interrupt_goes_to_that_rank_alone(terminal, python_worker, seen):
    worker = python_worker("""
signal.signal(signal.SIGINT, signal.default_int_handler)
ready()
try:
    if rank == 0:
        sys.stdin.readline()
    else:
        await_note("go")
except KeyboardInterrupt:
    note(f"{rank}.interrupted")
    print("interrupted", rank, flush=True)
    if rank == 0:
        print("typed", sys.stdin.readline().strip(), flush=True)
""")
    tty = terminal("--nproc-per-node=2", "--stdin=0", "--no-python", worker)
    tty.ready(2)
    tty.tty.sendintr()
    tty.expect("interrupted 0")
    tty.line("going on")
    tty.expect("typed going on")
    (seen / "go").touch()
    assert tty.finish()[0] == 0 and not (seen / "1.interrupted").exists()


def test_only_that_rank_has_the_terminal(terminal, python_worker, seen):
    tty = terminal(
        "--nproc-per-node=3", "--stdin=1", "--no-python", python_worker("note(f'{rank}.tty', sys.stdin.isatty())\n")
    )
    assert tty.finish()[0] == 0
    assert [(seen / f"{rank}.tty").read_text() for rank in range(3)] == ["False", "True", "False"]


def test_a_lone_worker_is_asked_and_answers(terminal, shell_worker):
    tty = terminal("--no-python", shell_worker("printf 'name? '\nread name\necho hello $name\n"))
    tty.expect(r"name\? ")
    tty.line("world")
    tty.expect("hello world")
    assert tty.finish()[0] == 0


def test_the_end_of_the_input(terminal, shell_worker):
    tty = terminal("--no-python", shell_worker("cat\necho over\n"))
    tty.line("typed")
    tty.expect("typed\r+\ntyped")
    tty.tty.sendeof()
    tty.expect("over")
    assert tty.finish()[0] == 0


def test_the_shell_has_its_terminal_back(at_a_shell, shell_worker):
    shell = at_a_shell(
        "--stdin=0",
        "--nproc-per-node=2",
        "--no-python",
        shell_worker("[ $RANK = 0 ] || exit 0\nread word\necho got $word\n"),
    )
    shell.line("something")
    shell.expect("got something")
    shell.expect("prompt> ")
    shell.line("read answer; echo answer is $answer")
    shell.line("mine")
    shell.expect("answer is mine")
