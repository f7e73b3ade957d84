"""The environment variables and the initial process state of a worker."""

import json
import os

import pytest

TELL = 'env > "$SEEN/env.$RANK"\n'


@pytest.fixture
def environments(dlaunch, shell_worker, seen):
    """environments(*options) -> the environment variables of all workers, by rank."""

    def environments_(*options, **more):
        assert dlaunch(*options, "--no-python", shell_worker(TELL), **more).rc == 0
        texts = [(seen / f"env.{rank}").read_text() for rank in range(len(list(seen.glob("env.*"))))]
        return [dict(line.split("=", 1) for line in text.splitlines() if "=" in line) for text in texts]

    return environments_


@pytest.mark.parametrize("workers", [1, 3])
def test_rank_variables(environments, workers):
    for rank, env in enumerate(environments(f"--nproc-per-node={workers}", "--role=trainer", "--max-restarts=4")):
        expected = {
            "RANK": rank,
            "LOCAL_RANK": rank,
            "WORLD_SIZE": workers,
            "LOCAL_WORLD_SIZE": workers,
            "GROUP_RANK": 0,
            "GROUP_WORLD_SIZE": 1,
            "ROLE_NAME": "trainer",
            "ROLE_RANK": rank,
            "ROLE_WORLD_SIZE": workers,
            "TORCHELASTIC_RESTART_COUNT": 0,
            "TORCHELASTIC_MAX_RESTARTS": 4,
            "DLAUNCH_ROUND": 0,
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": 1,
            "TORCHELASTIC_SIGNALS_TO_HANDLE": "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
        }
        assert {name: env.get(name) for name in expected} == {name: str(value) for name, value in expected.items()}
        assert "DLAUNCH_RESTART_REASON" not in env or env["DLAUNCH_RESTART_REASON"] == ""


def test_variables_of_the_job_are_equal_for_all_workers(environments):
    envs = environments("--nproc-per-node=3")
    for name in (
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "DLAUNCH_JOB_ID",
        "DLAUNCH_NODE_ID",
        "DLAUNCH_MASTER_HOST",
        "TORCHELASTIC_USE_AGENT_STORE",
    ):
        assert envs[0][name] and len({env[name] for env in envs}) == 1, name
    assert (
        envs[0]["TORCHELASTIC_RUN_ID"] == envs[0]["DLAUNCH_JOB_ID"]
        and len({env["TORCHELASTIC_ERROR_FILE"] for env in envs}) == 3
    )


@pytest.mark.parametrize("workers", [1, 2, 64])
def test_threads_share_the_usable_cores(environments, workers):
    expected = str(max(1, len(os.sched_getaffinity(0)) // workers))
    assert {env["OMP_NUM_THREADS"] for env in environments(f"--nproc-per-node={workers}")} == {expected}


def test_variables_of_the_user_stay(environments):
    mine = {
        "OMP_NUM_THREADS": "7",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
        "CUDA_VISIBLE_DEVICES": "3,1",
        "OF_MINE": "two words, '$x'",
    }
    assert [{name: env[name] for name in mine} for env in environments("--nproc-per-node=2", env=mine)] == [mine] * 2


def test_jax_finds_its_coordinator_at_a_port_of_its_own(environments):
    envs = environments("--nproc-per-node=2")
    assert [(env["JAX_NUM_PROCESSES"], env["JAX_PROCESS_ID"]) for env in envs] == [("2", "0"), ("2", "1")]
    (address,) = {env["JAX_COORDINATOR_ADDRESS"] for env in envs}
    host, _, port = address.rpartition(":")
    assert host == envs[0]["MASTER_ADDR"] and 0 < int(port) != int(envs[0]["MASTER_PORT"])


def test_an_old_identity_is_replaced(environments):
    stale = {
        name: "77" for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT", "GROUP_RANK", "TORCHELASTIC_RUN_ID")
    }
    (env,) = environments(env=stale)
    assert not [name for name in stale if env[name] == "77"]


def test_a_requested_port_is_used(environments):
    assert {
        (env["MASTER_ADDR"], env["MASTER_PORT"])
        for env in environments("--nproc-per-node=2", "--master-addr=127.0.0.1", "--master-port=29417")
    } == {("127.0.0.1", "29417")}


def test_a_loopback_endpoint_of_a_single_node_is_a_loopback_address(environments):
    for env in environments("--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--nproc-per-node=2"):
        assert env["MASTER_ADDR"] == "127.0.0.1" and int(env["MASTER_PORT"]) > 0


def test_an_empty_role(environments):
    assert environments("--role=")[0]["ROLE_NAME"] == "", "as torchrun"


def test_signal_dispositions_are_the_defaults(dlaunch):
    careless = ("sh", "-c", 'trap "" USR1 USR2 PIPE HUP INT; exec "$@"', "sh")
    result = dlaunch("--no-python", "grep", "-E", "SigIgn|SigBlk", "/proc/self/status", prefix=careless)
    assert [int(line.split()[1], 16) for line in result.out.splitlines()] == [0, 0]


def test_three_descriptors_and_no_more(dlaunch, python_worker):
    worker = python_worker(
        "numbers = [n for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')]\n"
        "print([(n, os.readlink(f'/proc/self/fd/{n}')) for n in numbers])\n"
    )
    result = dlaunch(
        "--nproc-per-node=2",
        "--no-python",
        worker,
        prefix=("sh", "-c", 'exec 7</dev/zero 9</dev/zero; exec "$@"', "sh"),
    )
    for line in result.out.splitlines():
        found = dict(eval(line))
        assert found["0"] == "/dev/null" and set(found) == {"0", "1", "2"}


def test_a_session_of_its_own(dlaunch, python_worker):
    result = dlaunch(
        "--nproc-per-node=2", "--no-python", python_worker("print(os.getsid(0) == os.getpid() == os.getpgid(0))\n")
    )
    assert result.out.split() == ["True", "True"]


def test_the_stop_signal_is_in_the_environment(environments):
    assert environments()[0]["DLAUNCH_WORKER_STOP_SIGNAL"] == "SIGTERM"
    assert environments("--stop-signal=USR1")[0]["DLAUNCH_WORKER_STOP_SIGNAL"] == "SIGUSR1"


def test_no_variable_is_an_option_of_a_nested_dlaunch(dlaunch, binary):
    plan = ("--dry-run", "--rdzv-id=x", "--master-port=29417", "true")
    options = ("--stop-signal=USR1", "--grace=7", "--role=trainer", "--max-restarts=2", "--rdzv-id=outer")
    below, alone = (json.loads(dlaunch(*words).out) for words in ((*options, binary, *plan), plan))
    assert {**below, "workers": None} == {**alone, "workers": None}
