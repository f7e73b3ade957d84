"""Colours and progress bars are for terminals only."""

import pytest

pytest.importorskip("pexpect")
ESCAPE = "\x1b["


def test_prefixes_are_coloured_there(terminal):
    assert ESCAPE in terminal("--nproc-per-node=2", "-t", "1", "--no-python", "echo", "word").finish()[1]


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_the_users_variables_disable_colours(terminal, env):
    rc, text = terminal("--ui=plain", "--nproc-per-node=2", "-t", "1", "--no-python", "echo", "word", env=env).finish()
    assert rc == 0 and ESCAPE not in text and "[default0]:word" in text


def test_not_in_a_pipe_or_file(dlaunch, tmp_path):
    result = dlaunch(
        "--nproc-per-node=2",
        "-t",
        "3",
        f"--log-dir={tmp_path}/logs",
        "--no-python",
        "sh",
        "-c",
        "echo word; echo word >&2; exit 1",
        env={"TERM": "xterm"},
    )
    assert ESCAPE not in result.out + result.err
    assert ESCAPE not in (tmp_path / "logs/latest/attempt_0/0/stdout.log").read_text()


def test_only_the_stream_that_is_a_terminal(terminal, binary, tmp_path):
    rc, _ = terminal(
        "-c", f"'{binary}' -t 3 --no-python sh -c 'echo word; echo word >&2' > '{tmp_path}/out'", program="sh"
    ).finish()
    assert rc == 0 and (tmp_path / "out").read_text() == "[default0]:word\n"


@pytest.mark.parametrize(
    "options",
    [["--nproc-per-node=1"], ["--nproc-per-node=2"], ["--nproc-per-node=2", "-t", "1"]],
    ids=lambda o: " ".join(o),
)
def test_a_progress_bar_moves(terminal, shell_worker, seen, options):
    bar = r"""[ $RANK = 1 ] && { await 1.go; exit 0; }
for n in 10 20 30; do printf "$n%%\r"; await "$n.go"; done
echo done
"""
    tty = terminal(*options, "--no-python", shell_worker(bar))
    for n in (10, 20, 30):
        tty.expect(f"{n}%")
        (seen / f"{n}.go").touch()
    tty.expect("done")
    (seen / "1.go").touch()
    assert tty.finish()[0] == 0


def test_a_line_of_another_rank_does_not_overwrite_it(terminal, shell_worker, seen):
    worker = shell_worker(r"""if [ $RANK = 1 ]; then await 1.go; echo another; note 0.go; exit 0; fi
printf "half way\r"
await 0.go
""")
    tty = terminal("--ui=plain", "--nproc-per-node=2", "--no-python", worker)
    tty.expect("half way")
    (seen / "1.go").touch()
    rc, text = tty.finish()
    assert rc == 0 and any(line.strip("\r") == "another" for line in text.split("\n"))
