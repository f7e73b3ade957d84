"""Control characters in error files, host names and job ids are escaped before they reach a terminal."""

RECORD = r"""printf '{"message":"bad \\u001b]0;owned\\u0007 news"}' > $TORCHELASTIC_ERROR_FILE
exit 3
"""


def test_an_error_files_message_at_a_restart(start, shell_worker):
    result = start("--max-restarts=1", "--no-python", shell_worker(RECORD)).wait(20)
    assert result.rc == 3 and r"bad \x1b]0;owned\x07 news" in result.err and "\x1b" not in result.err
