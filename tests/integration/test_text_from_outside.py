"""Control characters in error files, host names and job ids are escaped before they reach a terminal."""

import signal

from processes import until

RECORD = r"""printf '{"message":"bad \\u001b]0;owned\\u0007 news"}' > $TORCHELASTIC_ERROR_FILE
exit 3
"""


def test_an_error_files_message_at_a_restart(start, shell_worker):
    result = start("--max-restarts=1", "--no-python", shell_worker(RECORD)).wait(20)
    assert result.rc == 3 and r"bad \x1b]0;owned\x07 news" in result.err and "\x1b" not in result.err


ESCAPED = r"bad \x1b]0;owned\x07 job"
NODES = ("--nnodes=1:2", "--rdzv-backend=c10d")


def test_the_job_id_of_a_coordinator(start, dlaunch):
    """In its own lines, and in those of a check from the same job and from another."""
    name = "bad \x1b]0;owned\x07 job"
    run = start("coordinator", *NODES, "--rdzv-endpoint=localhost:0", "--rdzv-id", name)
    until(lambda: "listens on" in run.out(), 10, "the start of the coordinator")
    port = run.out().split(":")[-1].strip()
    endpoint = f"--rdzv-endpoint=localhost:{port}"
    same = dlaunch("check", *NODES, endpoint, "--rdzv-id", name)
    other = dlaunch("check", *NODES, endpoint, "--rdzv-id=other")
    again = dlaunch("coordinator", *NODES, endpoint, "--rdzv-id", name)
    run.signal(signal.SIGTERM)
    out = run.wait(10).out
    assert (same.rc, other.rc, again.rc) == (0, 83, 83), (same, other, again)
    for text in (out, same.out, other.out):
        assert ESCAPED in text and "\x1b" not in text, text
    assert "\x1b" not in same.err + other.err + again.err
