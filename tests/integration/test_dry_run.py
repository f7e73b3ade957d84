"""--dry-run prints the plan and starts nothing."""

import json


def test_it_is_json_and_nothing_happens(dlaunch, shell_worker, seen, tmp_path):
    result = dlaunch(
        "--dry-run",
        "--nproc-per-node=3",
        "-r",
        "3",
        f"--log-dir={tmp_path}/logs",
        f"--event-log={tmp_path}/events",
        "--no-python",
        shell_worker('touch "$SEEN/started"\n'),
        "a ${local_rank}",
    )
    plan = json.loads(result.out)
    assert (
        result.rc == 0
        and result.err == ""
        and not (tmp_path / "logs").exists()
        and not (tmp_path / "events").exists()
        and not list(seen.iterdir())
    )
    assert "a 2" in json.dumps(plan) and "WORLD_SIZE" in json.dumps(plan)


def test_the_plan_equals_the_workers_environment(dlaunch, tmp_path):
    words = [
        "--nproc-per-node=2",
        "--role=x",
        "--max-restarts=2",
        "--master-port=29420",
        "--rdzv-id=same",
        "--wrap=1:env WRAPPED=1",
    ]
    plan = json.dumps(json.loads(dlaunch("--dry-run", *words, "--no-python", "env").out))
    real = dlaunch(*words, "--no-python", "env").out.splitlines()
    for name in (
        "TORCHELASTIC_USE_AGENT_STORE",
        "WORLD_SIZE",
        "ROLE_NAME",
        "TORCHELASTIC_MAX_RESTARTS",
        "TORCHELASTIC_RUN_ID",
        "OMP_NUM_THREADS",
        "MASTER_PORT",
    ):
        (value,) = {line.split("=", 1)[1] for line in real if line.startswith(f"{name}=")}
        assert f'"{name}": "{value}"' in plan, name


def test_bad_input_is_reported_as_without_it(dlaunch):
    result = dlaunch("--dry-run", "--nproc-per-node=0", "--no-python", "true")
    assert result.rc == 2 and result.out == "" and len(result.err.splitlines()) == 1


def test_of_a_job_of_hosts_it_names_what_they_get_and_no_values(dlaunch, tmp_path):
    words = ("--hosts=a,b", "--launcher=fork", "--collect-logs", f"--log-dir={tmp_path}", "--export=MY_KEY,ALSO=secret2")
    text = dlaunch("--dry-run", *words, "--no-python", "true", env={"MY_KEY": "secret1"}).out
    plan = json.loads(text)
    assert plan["collect_logs"] and plan["log_dir"] == str(tmp_path)
    assert {"MY_KEY", "ALSO"} <= set(plan["environment"]["exported"]) and "secret" not in text
