"""A front end over real logins: ssh, and pdsh by ssh and by exec."""

import shlex

import pytest

from workers import STAY

pytestmark = pytest.mark.root
SAY = ["--no-python", "sh", "-c", 'echo "$GROUP_RANK $RANK/$WORLD_SIZE"']
PDSH = pytest.mark.needs("pdsh")


@pytest.fixture(params=["ssh", pytest.param("pdsh", marks=PDSH)])
def over(near, request):
    """The options and variables of a launcher that reaches near1 to near4."""
    sshd = near(4)
    if request.param == "ssh":
        return ["--launcher=ssh", f"--launcher-args={sshd.options}"], {}
    return ["--launcher=pdsh"], {"PDSH_SSH_ARGS_APPEND": sshd.options}


def test_four_hosts(dlaunch, over):
    options, variables = over
    result = dlaunch(*options, "--hosts=near[1-4]:2", *SAY, env=variables)
    assert result.rc == 0 and sorted(result.out.splitlines()) == [f"{rank // 2} {rank}/8" for rank in range(8)], result.err


def test_a_failure_names_the_host(dlaunch, over):
    options, variables = over
    words = ["--no-python", "sh", "-c", "[ $RANK = 0 ] && sleep 60; sleep 0.5; exit 7"]
    result = dlaunch(*options, "--hosts=near1,near2", *words, env=variables)
    assert result.rc == 7 and result.first_line.startswith("dlaunch: rank 1 (near2, pid "), result.err


def test_nothing_lives_on_after_a_killed_front_end(start, over, shell_worker):
    options, variables = over
    run = start(*options, "--hosts=near1,near2", "--no-python", shell_worker(STAY), env=variables)
    run.ready(2)
    run.signal(9)
    run.wait()
    run.nothing_left(8)


def test_a_host_that_refuses_the_login_is_named(start, near):
    sshd = near(1)
    run = start("--launcher=ssh", f"--launcher-args={sshd.options} -p 1", "--hosts=near1", "true")
    result = run.wait(20)
    assert result.rc == 80 and "host near1: ssh exited with 255 before an agent came: ssh: connect to host 127.0.0.1 port 1: Connection refused" in result.err


def test_copy_needs_no_dlaunch_and_leaves_no_file(start, near, tmp_path, binary, tmpdir_of_job):
    sshd = near(2)
    run = start("--launcher=ssh", f"--launcher-args={sshd.options}", "--hosts=near1,near2", "--copy", *SAY)
    result = run.wait(30)
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0 0/2", "1 1/2"], result.err
    assert not list(tmpdir_of_job.glob("dlaunch-copy*"))


@pytest.mark.needs("pdsh")
@pytest.mark.parametrize("options, variables", [
    (["--launcher-args=-R exec"], {}), (["--launcher-args=-Rexec"], {}), ([], {"PDSH_RCMD_TYPE": "exec"})
])
def test_pdsh_by_exec_needs_no_ssh(dlaunch, options, variables):
    result = dlaunch("--launcher=pdsh", *options, "--hosts=a,b", *SAY, env=variables)
    assert result.rc == 0 and sorted(result.out.splitlines()) == ["0 0/2", "1 1/2"], result.err


def test_manual_prints_commands_and_waits_for_them(start):
    from processes import until

    run = start("--launcher=manual", "--hosts=a,b", *SAY)
    until(lambda: run.out().count("\n") == 2, 10, "two commands")
    commands = [line.partition(": ") for line in run.out().splitlines()]
    assert [host for host, _, _ in commands] == ["a", "b"]
    agents = [start(*shlex.split(command)[1:]) for _, _, command in commands]
    result = run.wait(20)
    assert result.rc == 0 and result.out.splitlines()[2:] in (["0 0/2", "1 1/2"], ["1 1/2", "0 0/2"]), result.err
    assert [agent.wait(10).rc for agent in agents] == [0, 0]
