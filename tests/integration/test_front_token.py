"""A front end closes its job: it makes a token, or takes the user's, and passes it to the agents out of sight."""

import base64
import contextlib
import os
import shlex
import socket
import subprocess

import pytest

from processes import until
from running import OPEN

SAY = ["--no-python", "sh", "-c", 'echo "$RANK/$WORLD_SIZE"']
TOKEN = "xyzzy-is-a-token-of-ours"
SHAPES = [TOKEN, base64.b64encode(TOKEN.encode()).decode(), TOKEN.encode().hex()]


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


@pytest.fixture
def other_token_file(tmp_path):
    path = tmp_path / "other"
    path.write_text("a-token-of-another-job")
    path.chmod(0o600)
    return path


def ranks(result):
    assert result.rc == 0, result.err
    return sorted(line for line in result.out.splitlines() if ": " not in line)


@pytest.mark.parametrize("launcher", ["fork", "ssh"])
def test_agents_get_a_token_over_their_input(dlaunch, fake_ssh, launcher):
    result = dlaunch("--hosts=na,nb", f"--launcher={launcher}", *SAY, env=fake_ssh.env)
    assert ranks(result) == ["0/2", "1/2"] and result.err == ""
    assert all(" --token=-" in call["command"] for call in fake_ssh.calls())


@pytest.mark.parametrize("launcher", ["fork", "ssh"])
def test_a_token_of_the_user_stays_out_of_sight(dlaunch, fake_ssh, token_file, launcher):
    """The worker looks at the agent, its guard, and their ancestors."""
    look = 'p=$PPID; for i in 1 2 3 4; do tr "\\0" "\\n" < /proc/$p/cmdline; tr "\\0" "\\n" < /proc/$p/environ; p=$(cut -d" " -f4 /proc/$p/stat); done; env'
    words = ["--hosts=na,nb", f"--launcher={launcher}", "--no-python", "sh", "-c", look]
    for given, variables in ((f"--token-file={token_file}", {}), ("--quiet", {"DLAUNCH_TOKEN": TOKEN})):
        result = dlaunch(*words, given, env={**fake_ssh.env, **variables})
        assert result.rc == 0 and "--token=-" in result.out
        seen = result.out + result.err + str(fake_ssh.calls())
        assert not any(shape in seen for shape in SHAPES)
    result = dlaunch("--hosts=na", f"--launcher={launcher}", "--no-python", "env", env={**fake_ssh.env, "DLAUNCH_TOKEN_FILE": token_file})
    assert result.rc == 0 and "DLAUNCH_TOKEN" not in result.out


@pytest.fixture
def sniffed():
    """sniffed() -> all that has passed over the loopback interface, over which a host reaches its own addresses."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    tap.bind(("lo", 0))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
    tap.setblocking(False)

    def read():
        packets = []
        with contextlib.suppress(BlockingIOError):
            while True:
                packets.append(tap.recv(1 << 17))
        return b"".join(packets)

    yield read
    tap.close()


@pytest.mark.root
@pytest.mark.parametrize("launcher, is_open", [("fork", False), ("ssh", False), pytest.param("pdsh", True, marks=pytest.mark.needs("pdsh"))])
def test_nothing_of_the_job_crosses_the_wire_in_plain(dlaunch, fake_ssh, sniffed, launcher, is_open):
    """Neither what the front end sends, nor what a worker prints; in an open job both do."""
    words = [f"--launcher={launcher}", "--hosts=na,nb", "--env=LICENSE=l1c3ns3", "--no-python", "sh", "-c", "echo wr0ng-pl4ce"]
    result = dlaunch(*words, env={**fake_ssh.env, "PDSH_RCMD_TYPE": "exec"})
    packets = sniffed()
    assert result.rc == 0 and result.out.count("wr0ng-pl4ce") == 2 and len(packets) > 10_000
    assert (b"l1c3ns3" in packets) == is_open and (b"wr0ng-pl4ce" in packets) == is_open


def manual(start, *options, directory=None):
    """A front end that has printed its commands, and these."""
    front = start("--launcher=manual", "--hosts=a,b", *options, *SAY, cwd=directory)
    until(lambda: front.out().count("\n") == 2, 10, "two commands")
    return front, [shlex.split(line.partition(": ")[2]) for line in front.out().splitlines()]


def test_without_input_agents_read_a_file_at_the_same_path(start, token_file):
    front, commands = manual(start, "--token-file=token", directory=token_file.parent)
    assert all(command[-1] == f"--token-file={token_file}" for command in commands)
    agents = [start(*command[1:]) for command in commands]
    result = front.wait(20)
    assert ranks(result) == ["0/2", "1/2"] and result.err == ""
    assert [agent.wait(10).rc for agent in agents] == [0, 0]


def test_an_agent_with_another_token_is_refused_and_the_job_goes_on(start, token_file, other_token_file):
    front, commands = manual(start, f"--token-file={token_file}")
    for _ in range(2):
        stranger = start(*commands[0][1:-1], f"--token-file={other_token_file}").wait(20)
        assert stranger.rc == 83 and stranger.err.startswith("dlaunch: agent: the front end cannot be reached: "), stranger.err
        assert "has another token" in stranger.err and stranger.err.count("\n") == 1
    agents = [start(*command[1:]) for command in commands]
    result = front.wait(20)
    lines = result.err.splitlines()
    assert ranks(result) == ["0/2", "1/2"] and lines[0].endswith(": it has another token")
    addresses = {line.split()[5] for line in lines}  # an agent dials several
    assert len(addresses) == len(lines)
    assert [agent.wait(10).rc for agent in agents] == [0, 0]


def test_an_agent_without_the_token_is_not_served(start, token_file):
    front, commands = manual(start, f"--token-file={token_file}")
    stranger = start(*commands[0][1:-1], "--key=0123456789abcdef").wait(20)
    assert stranger.rc not in (0, 2)
    agents = [start(*command[1:]) for command in commands]
    assert ranks(front.wait(20)) == ["0/2", "1/2"]
    assert [agent.wait(10).rc for agent in agents] == [0, 0]


def test_an_open_job_says_how_it_is_closed(start):
    front, commands = manual(start)
    assert front.err().startswith(OPEN + "this host, because manual passes no input") and "--token-file" in front.err() and front.err().count("\n") == 1
    agents = [start(*command[1:]) for command in commands]
    assert ranks(front.wait(20)) == ["0/2", "1/2"] and [agent.wait(10).rc for agent in agents] == [0, 0]


@pytest.fixture
def no_openssl():
    """A command prefix: programs behind it cannot load libssl."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    libraries = {line.split(" => ")[1] for line in listed.splitlines() if "libssl.so.3 " in line}
    hide = "".join(f"mount --bind /dev/null {shlex.quote(path)} && " for path in sorted(libraries))
    return ("unshare", "-m", "sh", "-c", hide + 'exec "$@"', "sh")


@pytest.mark.root
@pytest.mark.needs("unshare")
def test_without_openssl_the_job_is_open_or_refuses_a_token(dlaunch, no_openssl, token_file):
    words = ["--hosts=a,b", "--launcher=fork"]
    result = dlaunch(*words, *SAY, prefix=no_openssl)
    assert ranks(result) == ["0/2", "1/2"] and result.err.startswith(OPEN + "this host: ") and "libssl3" in result.err and result.err.count("\n") == 1
    result = dlaunch(*words, f"--token-file={token_file}", *SAY, prefix=no_openssl)
    assert result.rc == 126 and result.out == "" and "libssl3" in result.err and result.err.count("\n") == 1


@pytest.mark.root
@pytest.mark.needs("unshare")
def test_a_host_without_openssl_is_named_and_needs_an_open_job(dlaunch, fake_ssh, no_openssl):
    fake_ssh.behave("nb", "under " + shlex.join(no_openssl))
    result = dlaunch("--hosts=na,nb", *SAY, env=fake_ssh.env)
    assert result.rc == 80 and result.out == "" and "nb: " in result.err and "--no-token" in result.err
    result = dlaunch("--hosts=na,nb", "--no-token", *SAY, env=fake_ssh.env)
    assert ranks(result) == ["0/2", "1/2"] and result.err == ""


def test_only_the_users_own_word_hides_the_workers_store(dlaunch, token_file):
    ports = "--hosts=a,b", "--launcher=fork", "--no-python", "sh", "-c", "echo $MASTER_PORT"

    def stores(*options):
        return len(set(dlaunch(*options, *ports).out.split()))

    assert stores() == 1 and stores(f"--token-file={token_file}", "--store=open") == 1, "all workers know one port"
    assert stores("--store=relay") == 2 and stores(f"--token-file={token_file}") == 2, "each agent has its own"


def test_without_input_a_variable_cannot_be_passed(dlaunch):
    result = dlaunch("--launcher=manual", "--hosts=a", "true", env={"DLAUNCH_TOKEN": TOKEN})
    assert result.rc == 2 and result.err.startswith("dlaunch: DLAUNCH_TOKEN: manual passes no input") and TOKEN not in result.err


@pytest.mark.parametrize("line", ["", "no base64!\n", "short"])
def test_an_agent_without_a_token_on_its_input_ends(binary, line):
    result = subprocess.run([binary, "agent", "--front=127.0.0.1:1", "--name=a", "--token=-"], input=line, text=True, capture_output=True, timeout=60)
    assert result.returncode == 83 and result.stderr.startswith("dlaunch: agent: ") and result.stderr.count("\n") == 1
    assert not line or line.strip() not in result.stderr


def test_a_missing_token_file_on_a_host_is_named(start, token_file, tmp_path):
    front, commands = manual(start, f"--token-file={token_file}", "--launch-timeout=20")
    agent = start(*commands[0][1:-1], f"--token-file={tmp_path}/nothing").wait(10)
    assert agent.rc == 2 and f"{tmp_path}/nothing: the token file cannot be read" in agent.err
    front.signal(15)
    assert front.wait(10).rc == 143


def test_a_killed_agent_reads_as_it_would_without_a_token(start, shell_worker):
    run = start("--hosts=a,b", "--launcher=fork", "--no-python", shell_worker("kill -9 $(cut -d' ' -f4 /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/stat); exec sleep 60"))
    result = run.wait(30)
    assert result.rc == 80 and ": its agent has ended\n" in result.err, result.err
    run.nothing_left(8)


def test_the_environment_variable_for_openssl_changes_nothing(dlaunch, tmp_path):
    (tmp_path / "openssl.cnf").write_text("openssl_conf = nonsense\n")
    result = dlaunch("--hosts=a,b", "--launcher=fork", *SAY, env={**os.environ, "OPENSSL_CONF": tmp_path / "openssl.cnf"})
    assert ranks(result) == ["0/2", "1/2"] and result.err == ""
