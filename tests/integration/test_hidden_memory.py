"""A process that has a token shows its memory to root alone, and dumps no core; workers stay as they are."""

import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from processes import until

pytestmark = [pytest.mark.root, pytest.mark.needs("setpriv")]
TOKEN = "xyzzy-is-a-token-of-ours"
# The agent's and the guard's memory maps, and the worker's own, each "seen" or "hidden".
LOOK = """for p in $PPID $(cut -d" " -f4 /proc/$PPID/stat) $$; do
    [ -n "$(head -c 1 /proc/$p/maps 2> /dev/null)" ] && printf 'seen ' || printf 'hidden '
done"""


@pytest.fixture
def as_user(binary):
    """as_user(*words, **variables) -> a running dlaunch of a user other than root, in a folder of that user."""
    folder = Path(tempfile.gettempdir()) / f"dl-user-{random.getrandbits(32):x}"
    folder.mkdir()
    user = random.randint(40_000, 60_000)
    shutil.copy(binary, folder / "dlaunch")
    (folder / "token").write_text(TOKEN)
    for path, mode in ((folder, 0o700), (folder / "token", 0o600)):
        os.chown(path, user, user)
        path.chmod(mode)

    def begin(*words, **variables):
        prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "prlimit", "--core=unlimited"]
        environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "XDG_RUNTIME_DIR": "", **variables}
        return subprocess.Popen([*prefix, folder / "dlaunch", *words], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    begin.folder = folder
    yield begin
    shutil.rmtree(folder)


def output(process, status=0):
    out, err = process.communicate(timeout=30)
    assert process.returncode == status, err
    return out


@pytest.mark.parametrize("words, variables, expected", [
    ([], {}, "seen seen seen "),
    (["--token-file=token"], {}, "hidden seen seen "),  # the guard has never had it
    ([], {"DLAUNCH_TOKEN": TOKEN}, "hidden hidden seen "),
    (["--hosts=a", "--launcher=fork"], {}, "hidden hidden seen "),
])
def test_who_can_look_at_a_process(as_user, words, variables, expected):
    assert output(as_user(*words, "sh", "-c", LOOK, **variables)) == expected


def test_coordinator_and_front_end_are_hidden(as_user):
    look = 'for p in $(pgrep -U $(id -u) dlaunch); do [ -n "$(head -c 1 /proc/$p/maps 2> /dev/null)" ] && cat /proc/$p/comm; done; echo end'
    seen = output(as_user("--hosts=a,b", "--nnodes=2", "--launcher=fork", "sh", "-c", f"[ $RANK = 1 ] || {{ {look}; }}"))
    assert seen.split() == ["dlaunch", "end"]  # the guard of the front end


def test_a_core_of_a_worker_is_still_dumped(as_user):
    process = as_user("--token-file=token", "sh", "-c", "kill -SEGV $$")
    assert "core dumped" in process.communicate(timeout=30)[1]


def test_log_files_and_sweeping_work(as_user):
    words = ["--token-file=token", "-n2", "-t3", "-r3", "--log-dir=logs"]
    process = as_user(*words, "sh", "-c", "echo word; setsid sleep 97 & until pgrep -P $$ sleep > /dev/null; do :; done")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and out.count(":word") == 2 and "ended " in err, err
    assert len(list((as_user.folder / "logs").glob("*/attempt_0/*/stdout.log"))) >= 2


def test_stop_finds_the_guard(as_user):
    job = as_user("--token-file=token", "sh", "-c", "echo begun; exec sleep 60")
    until(lambda: job.stdout.readline() == "begun\n", 10, "the worker")
    assert output(as_user("ps")).split("\n")[1].split()[1] == str(job.pid)
    output(as_user("stop"))
    job.communicate(timeout=30)
    assert job.returncode in (143, -15)
