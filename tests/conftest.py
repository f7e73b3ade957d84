"""Black-box tests of the built dlaunch: its behaviour towards users, scripts and operators.

The program is the one that DLAUNCH names, else build/release/bin/dlaunch. Every run carries a mark in its environment,
and unless a test expects otherwise no process with that mark may live when dlaunch has ended.
"""

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from cluster import WORKER, Cluster
from etcd import Etcd
from fake_ssh import FakeSsh
from hosts import Hosts, why_not
from processes import MARK
from running import Running
from workers import python_text, shell_text

ROOT = Path(__file__).resolve().parent.parent
BINARY = Path(os.environ.get("DLAUNCH") or ROOT / "build/release/bin/dlaunch").resolve()
OURS = re.compile(
    r"(PET|DLAUNCH|TORCHELASTIC|TORCH_ELASTIC|SLURM|PMI|PMIX|OMPI|MASTER|JAX)_|((LOCAL|GROUP|ROLE)_)?(RANK|WORLD_SIZE)$"
    r"|(OMP_NUM_THREADS|PYTHON_EXEC|VIRTUAL_ENV|CONDA_PREFIX|NO_COLOR|ZE_AFFINITY_MASK)$|(CUDA|HIP|ROCR|HABANA|ASCEND_RT)_VISIBLE"
)
ASKS_FOR_LOGS = re.compile(r"(-r|-t|--redirect|--tee|--log[-_]dir|--duplicate)")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only root may do this"))
        for need in item.iter_markers("needs"):
            missing = [program for program in need.args if not shutil.which(program)]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def binary():
    if not os.access(BINARY, os.X_OK):
        pytest.exit(f"{BINARY} is not there; build it with ./dev build, or name another with DLAUNCH", 2)
    return BINARY


@pytest.fixture
def tmpdir_of_job():
    """TMPDIR of every run of a test: short (sockets have short names), and looked into after each good run."""
    folder = Path(tempfile.mkdtemp(prefix="dl"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def clean_environment(tmpdir_of_job, seen):
    """The environment of a run: the caller's, without the variables that change how a launcher behaves."""
    clean = {name: value for name, value in os.environ.items() if not OURS.match(name)}
    return {**clean, "TMPDIR": str(tmpdir_of_job), "SEEN": str(seen), "PYTHON_EXEC": sys.executable}


@pytest.fixture
def seen(tmp_path):
    """The folder in which workers leave notes; any user may write there, because a worker may change its user."""
    folder = tmp_path / "seen"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def new_mark():
    """A unique number of seconds to sleep: marks processes by an argument."""
    return lambda: f"{random.randint(1000, 9999)}.{random.getrandbits(48):015d}"


@pytest.fixture
def start(binary, tmp_path, clean_environment, new_mark):
    """start(*args, env={}, cwd=None, stdin=None, prefix=(), program=None) -> Running.

    `env` values of None remove a variable; `stdin` is bytes, text, a file, or nothing for /dev/null.
    """
    runs = []

    def start_(*args, env=None, cwd=None, stdin=None, prefix=(), program=None, stdout=None, stderr=None):
        mark, number = new_mark(), len(runs)
        variables = {**clean_environment, MARK: mark, **(env or {})}
        variables = {name: str(value) for name, value in variables.items() if value is not None}
        out, err = tmp_path / f"{number}.out", tmp_path / f"{number}.err"
        words = [word if isinstance(word, bytes) else str(word) for word in (*prefix, program or binary, *args)]
        feed = stdin.encode() if isinstance(stdin, str) else stdin if isinstance(stdin, bytes) else None
        began = time.monotonic()  # Popen may return long after the program has begun
        with out.open("wb") as o, err.open("wb") as e:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE if feed is not None else stdin or subprocess.DEVNULL,
                env=variables,
                stdout=stdout or o,
                stderr=stderr or e,
                cwd=cwd or tmp_path,
                start_new_session=True,
            )
        runs.append(Running(process, mark, Path(variables["SEEN"]), out, err, began))
        if feed is not None:
            try:
                process.stdin.write(feed)
                process.stdin.close()
            except BrokenPipeError:
                process.stdin = None
        return runs[-1]

    yield start_
    left = [run for run in runs if run.ended() and run.living()]
    for run in runs:
        run.end()
    assert not left, f"{len(left)} runs ended and left processes behind"


@pytest.fixture
def dlaunch(start, tmpdir_of_job):
    """dlaunch(*args, timeout=30, **as start has) -> Result of a run to its end, after which nothing is left."""

    def dlaunch_(*args, timeout=30, **options):
        run = start(*args, **options)
        result = run.wait(timeout)
        run.nothing_left()
        if result.rc == 0 and not any(ASKS_FOR_LOGS.match(str(arg)) for arg in args):
            assert os.listdir(tmpdir_of_job) == [], "a good run without logs leaves its temporary folder empty"
        return result

    return dlaunch_


@pytest.fixture
def script(tmp_path):
    """script(name, text) -> path of an executable file."""

    def script_(name, text):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    return script_


@pytest.fixture
def shell_worker(script):
    """shell_worker(text) -> path of a shell program that knows note and await (support/workers.py)."""
    return lambda text, name="worker.sh": script(name, shell_text(text))


@pytest.fixture
def python_worker(script):
    """python_worker(text) -> path of an executable Python program that knows note and await_note."""
    return lambda text, name="worker": script(name, python_text(text))


@pytest.fixture
def job(start, shell_worker):
    """job(shell text, *options, workers=2, ...) -> Running: that many copies of the program."""

    def job_(text, *options, workers=2, args=(), **more):
        return start(f"--nproc-per-node={workers}", *options, "--no-python", shell_worker(text), *args, **more)

    return job_


@pytest.fixture
def hosts(binary, tmp_path, start):
    """hosts(3) or hosts("node2", "node10") -> Hosts on one switch, all of one test; they go with it."""
    made = []

    def hosts_(*names, **more):
        if reason := why_not():
            pytest.skip(reason)
        names = [f"node{number + 1}" for number in range(names[0])] if isinstance(names[0], int) else names
        made.append(Hosts(names, tmp_path, binary, start, **more))
        return made[-1]

    yield hosts_
    for each in made:
        each.close()


@pytest.fixture
def cluster(hosts, seen, script):
    """cluster(3), or cluster(*names) -> Cluster of that many hosts, on which a job of several nodes may begin."""
    return lambda *names, **more: Cluster(hosts(*names, **more), seen, script("worker.sh", WORKER))


@pytest.fixture
def by_etcd(cluster, tmp_path):
    """by_etcd(2, members=1) -> a Cluster of nodes, and an Etcd on further hosts."""
    made = []

    def by_etcd_(count, members=1, certificates=None):
        names = [f"etcd{number}" for number in range(1, members + 1)]
        job = cluster(*names, *(f"node{number}" for number in range(1, count + 1)))
        made.append((job.net, list(job.net)))
        servers, job.net.all = job.net.all[:members], job.net.all[members:]
        return job, Etcd(servers, tmp_path, certificates)

    yield by_etcd_
    for net, all_hosts in made:
        net.all = all_hosts  # etcd ends with its hosts


@pytest.fixture
def fake_ssh(tmp_path):
    """FakeSsh: logins to hosts that need not exist; give its env to a run with --launcher=ssh."""
    return FakeSsh(tmp_path / "ssh")


@pytest.fixture
def near(tmp_path):
    """near(2) -> RealSshd with the hosts near1 and near2."""
    from real_sshd import RealSshd, missing

    made = []

    def near_(hosts):
        if reason := missing():
            pytest.skip(reason)
        made.append(RealSshd(tmp_path / "sshd", hosts))
        return made[-1]

    yield near_
    for each in made:
        each.close()


@pytest.fixture
def slurm(hosts, tmp_path):
    """slurm(2) -> Slurm with `login` and node1 and node2."""

    def slurm_(nodes, **more):
        from slurm import Slurm, missing

        if reason := missing():
            pytest.skip(reason)
        return Slurm(hosts("login", *(f"node{number + 1}" for number in range(nodes))), tmp_path / "slurm", **more)

    return slurm_


@pytest.fixture
def terminal(binary, clean_environment, new_mark, seen):
    """terminal(*args, env={}, program=None, columns=120) -> Terminal on which dlaunch, or another program, runs."""
    from terminal import Terminal

    terminals = []

    def terminal_(*args, env=None, program=None, **size):
        mark = new_mark()
        variables = {**clean_environment, "TERM": "xterm", MARK: mark, **(env or {})}
        words = [str(word) for word in (program or binary, *args)]
        terminals.append(Terminal(words, {name: str(value) for name, value in variables.items()}, mark, seen, **size))
        return terminals[-1]

    yield terminal_
    for each in terminals:
        each.end()


@pytest.fixture
def screen(binary, clean_environment, new_mark):
    """screen(*args, columns=80, rows=24, env={}) -> Screen on which dlaunch runs."""
    from screen import Screen

    screens = []

    def screen_(*args, columns=80, rows=24, env=None):
        mark, folder = new_mark(), Path(tempfile.mkdtemp(prefix="tm"))
        variables = {**clean_environment, MARK: mark, **(env or {})}
        variables = {name: str(value) for name, value in variables.items()}
        screens.append((Screen(folder, [str(binary), *map(str, args)], variables, mark, columns, rows), folder))
        return screens[-1][0]

    yield screen_
    for each, folder in screens:
        each.end()
        shutil.rmtree(folder)


@pytest.fixture
def at_a_shell(terminal, binary):
    """at_a_shell(*args of dlaunch, first="(", then="| cat") -> Terminal on which an interactive bash runs it as a job."""

    def at_a_shell_(*args, first="", then=""):
        shell = terminal("--norc", "--noprofile", "-i", program="bash", env={"PS1": "prompt> "})
        shell.expect("prompt> ")
        shell.line(" ".join([first, *(shlex.quote(str(word)) for word in (binary, *args)), then]))
        return shell

    return at_a_shell_
