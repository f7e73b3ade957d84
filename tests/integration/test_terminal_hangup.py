"""The terminal's window is closed: no process remains."""

import pytest

from processes import until

pytest.importorskip("pexpect")


@pytest.mark.parametrize("listening", [True, False], ids=["plain", "deaf"])
def test_no_process_remains(terminal, shell_worker, listening):
    tty = terminal(
        "--nproc-per-node=2",
        "--grace=0.5",
        "--no-python",
        shell_worker(("" if listening else "trap '' HUP TERM\n") + 'ready\nexec sleep "$TEST_RUN_MARK"\n'),
    )
    tty.ready(2)
    tty.tty.close(force=False)
    until(lambda: not tty.living(), 8, "the end of all processes")
