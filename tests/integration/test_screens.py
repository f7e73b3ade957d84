"""The live view as a person sees it: on screens of 80 and 200 columns that tmux draws."""

import re

import pytest

from processes import until

pytestmark = pytest.mark.needs("tmux")
STATUS = r"\d:\d\d . {0} of {0} workers alive"
BARS = """
ready()
step = 0
while not os.path.exists(f"{os.environ['SEEN']}/go"):
    if os.path.exists(f"{os.environ['SEEN']}/still"):
        time.sleep(0.05)
        continue
    sys.stderr.write(f"\\r{rank:2} at step {step:06} |{'#' * 50}| and a tail for which a small screen has no room")
    sys.stderr.flush()
    step += 1
    time.sleep(0.05)
sys.stderr.write("\\n")
"""


def block(screen, workers):
    """The rows of the screen above the only status line, which is the last row."""
    return screen.shows(r"\A((?!.*workers alive).*\n)*" + STATUS.format(workers) + r".*\Z")[:-1]


def is_whole(rows, columns, count):
    """Each row has the start of a bar, and nothing of another one: no row was continued on the next."""
    bars = [row for row in rows if re.match(r"\[\d+(-\d+)?(, ?\d+(-\d+)?)*\] *(\(and \d+ more\) )? *\d+ at step \d{6} \|#", row)]
    return bars == rows and len(rows) == count and all(columns // 2 < len(row) <= columns for row in rows)


@pytest.mark.parametrize("columns", [80, 200])
def test_64_ranks_with_bars(screen, python_worker, seen, columns):
    view = screen("--nproc-per-node=64", python_worker(BARS), columns=columns)
    view.shows(r"\(and 5\d more\)", 40)
    assert is_whole(block(view, 64), columns, 8), view.lines()
    (seen / "go").touch()
    status, rows = view.finish()
    assert status == 0 and "workers alive" not in "\n".join(view.lines())
    steps = [re.search(r"(\d+) at step", row)[1] for row in rows if " at step " in row and "workers" not in row]
    assert {int(rank) for rank in steps} == set(range(64)), "the last state of each bar stays"


def test_a_screen_that_changes_its_size(screen, python_worker, seen):
    """While the bars stand still: what is drawn for the former size as the size changes may leave a row behind."""
    view = screen("--nproc-per-node=2", python_worker(BARS), columns=200)
    block(view, 2)
    (seen / "still").touch()
    for columns in (80, 50, 200, 80):
        view.resize(columns)
        until(lambda: is_whole(block(view, 2), columns, 2), 10, f"the block at {columns} columns")
    (seen / "go").touch()
    status, _ = view.finish()
    assert status == 0 and "workers alive" not in "\n".join(view.lines())


@pytest.mark.parametrize("columns", [80, 200])
def test_a_prompt_beside_a_bar(screen, python_worker, seen, columns):
    asks = 'if rank == 0:\n    ready()\n    print("hello", input("your name? "))\n    sys.exit()\n'
    view = screen("--nproc-per-node=2", "--stdin=all", python_worker(asks + BARS), columns=columns)
    view.shows(r"^\[0\] your name\?.*\n\[1\] +1 at step ")
    view.line("quokka")
    rows = view.shows(r"^\[1\] +1 at step 0000[3-9].*\n\d:\d\d . 1 of 2")
    assert rows[:2] == ["[0] your name? quokka", "[0] your name? hello quokka"]  # the second is the line as written
    (seen / "go").touch()
    status, rows = view.finish()
    assert status == 0 and not any("workers alive" in row for row in view.lines()), rows


def test_a_bar_leaves_the_line_of_a_rank_that_has_the_terminal(screen, python_worker, seen):
    """--stdin=0: rank 0 writes its prompt to the terminal, and the bar of rank 1 is a line behind it once a second."""
    asks = 'if rank == 0:\n    await_note("shown")\n    print("hello", input("your name? "))\n    note("go")\n    sys.exit()\n'
    view = screen("--nproc-per-node=2", "--stdin=0", python_worker(asks + BARS))
    view.shows(r"^ ?1 at step 0000")
    (seen / "shown").touch()
    view.shows(r"^your name\? +1 at step.*\n.*\n +1 at step")
    view.line("quokka")
    status, rows = view.finish()
    assert status == 0 and any(row.endswith("hello quokka") for row in rows), rows


def test_colours_end_with_their_row(screen, python_worker, seen):
    view = screen("--nproc-per-node=2", python_worker("print(f'\\x1b[31mred {rank}')\n" + BARS), columns=80)
    view.shows(STATUS.format(2))
    rows = view.shows(r"\x1b\[31mred 0", 20, "-e")
    assert not any("\x1b[31m" in row for row in rows if "red" not in row), rows
    (seen / "go").touch()
    assert view.finish()[0] == 0


@pytest.mark.parametrize("columns", [80, 200])
def test_a_bar_beside_a_flood(screen, python_worker, seen, columns):
    """A rank writes 30 MB as fast as it can."""
    flood = """
if rank == 1:
    line = ("x" * 99 + "\\n").encode() * 1000
    for _ in range(300): os.write(1, line)
    note("written")
    sys.exit()
"""
    view = screen("--nproc-per-node=2", python_worker(flood + BARS), columns=columns)
    view.shows(r"^\[0\] +0 at step [^\n]*\n" + r"\d:\d\d . [12] of 2 workers alive[^\n]*\Z")
    while not (seen / "written").exists():
        view.shows(r"^\[0\] +0 at step [^\n]*\n" + r"\d:\d\d . [12] of 2 workers alive[^\n]*\Z", 60)
    (seen / "go").touch()
    status, rows = view.finish(60)
    assert status == 0 and sum(bool(re.match(r"\[0\] +0 at step \d+", row)) for row in rows) == 1, rows[-5:]
    assert "workers alive" not in "\n".join(view.lines())
