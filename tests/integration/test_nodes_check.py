"""dlaunch check: the address that this node would advertise and why, the coordinator's address, and whether it answers."""

import pytest

from store import serving


def table(out):
    return {what: text.strip() for what, text in (line.split(":", 1) for line in out.splitlines())}


@pytest.fixture
def check(cluster):
    """check(host number, words) -> output and exit status of a check on that host of two."""
    job = cluster(2)

    def check_(number, *options, **more):
        result = job.net[number].start("check", *job.words("2", *options, **more)).wait(20)
        return result.rc, table(result.out), result.err

    check_.job = job
    return check_


def test_before_any_node_has_started(check):
    rc, fields, _ = check(0)
    assert rc == 0 and fields["this node"] == "node1, advertised as 10.86.0.1"
    assert fields["because"] == "the endpoint names it" and "hosted by this node" in fields["coordinator"]
    rc, fields, _ = check(1)
    assert rc == 80 and fields["this node"] == "node2, advertised as 10.86.0.2"
    assert fields["because"] == "it is the source address of the route to the endpoint"
    assert fields["coordinator"] == "node1:29400 (10.86.0.1)" and "Connection refused" in fields["answers"]


def test_a_check_does_not_affect_a_waiting_job(check):
    run = check.job.join(check.job.net[0], "2")
    check.job.net[0].await_connection(check.job.net[0])
    rc, fields, _ = check(1)
    assert rc == 0 and fields["answers"] == 'yes: the coordinator of job "job" is there'
    rc, fields, _ = check(1, job="other")
    assert rc == 83 and '"job"' in fields["answers"] and '"other"' in fields["answers"]
    assert not run.ended() and "joined" not in run.err()


def test_the_address_that_the_user_names(check):
    rc, fields, _ = check(1, "--local-addr=127.0.0.1")
    assert fields["this node"] == "node2, advertised as 127.0.0.1" and fields["because"] == "--local-addr names it"


def test_an_unknown_name(check):
    rc, fields, _ = check(1, endpoint="nowhere.invalid")
    assert rc == 80 and "has no address" in fields["answers"]


def test_a_foreign_service_is_reported(dlaunch, binary):
    with serving(binary) as server:
        result = dlaunch("check", "--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{server.port}")
    assert result.rc == 83 and "no dlaunch coordinator" in result.out


def test_a_shared_folder(dlaunch, tmp_path):
    words = ["check", "--nnodes=2", "--local-addr=127.0.0.1"]
    result = dlaunch(*words, f"--rdzv-endpoint=file://{tmp_path}")
    assert result.rc == 0 and "the first node that starts hosts it" in result.out
    assert not list(tmp_path.glob("dlaunch-*")), "it has claimed nothing"
    result = dlaunch(*words, "--rdzv-endpoint=file:///no/such/folder")
    assert result.rc == 2 and "No such file or directory" in result.err


@pytest.mark.root
@pytest.mark.needs("unshare")
@pytest.mark.parametrize(
    "prepare, reason",
    [("head -c 1000000 /dev/zero 2>/dev/null > '{0}/fill'", "No space left on device"),
     ("mount -o remount,ro '{0}'", "Read-only file system")],
    ids=["full", "read_only"],
)
@pytest.mark.parametrize("command", [["check"], []], ids=["check", "job"])
def test_a_shared_folder_that_cannot_be_written(start, tmp_path, prepare, reason, command):
    """A check and the job print the same single line."""
    folder = tmp_path / "shared"
    folder.mkdir()
    mount = f"mount -t tmpfs -o size=256k tmpfs '{folder}' && {{ {prepare.format(folder)}; exec \"$@\"; }}"
    words = [*command, "--nnodes=2", "--local-addr=127.0.0.1", f"--rdzv-endpoint=file://{folder}", "true"]
    result = start(*words, prefix=("unshare", "-m", "sh", "-c", mount, "sh")).wait(10)
    assert result.rc == 2 and result.out == "" and result.err == (
        f"dlaunch: --rdzv-endpoint: cannot write to file://{folder}: {reason}, "
        "expected a folder that all nodes share and may write to\n"
    )


def test_bad_arguments_and_help(dlaunch):
    assert dlaunch("check", "--rdzv-endpoint=:1").rc == 2
    assert dlaunch("check", "--nnodes=2", "--rdzv-backend=c10d").first_line.startswith("dlaunch: --rdzv-endpoint: nothing given")
    assert dlaunch("check").rc == 0 and "alone" in dlaunch("check").out
    assert "Usage: dlaunch check" in dlaunch("check", "--help").out


def test_options_that_print_a_text(dlaunch):
    assert dlaunch("check", "--nnodes=2", "--version").out == dlaunch("--version").out
    assert dlaunch("check", "--nnodes=2", "--help").out == dlaunch("check", "--help").out


@pytest.mark.parametrize("option", ["--dry-run", "--print-completion=bash"])
def test_options_of_jobs_are_refused(dlaunch, option):
    result = dlaunch("check", "--nnodes=2", option, "true")
    assert result.rc == 2 and result.err == f"dlaunch: check {option}: expected this option without check\n"


def test_warnings_are_kept(dlaunch):
    result = dlaunch("check", "--rdzv-conf=jion_timeout=3")
    assert result.rc == 0 and "unknown key jion_timeout is ignored; did you mean join_timeout?" in result.err


def test_the_program_may_be_missing(dlaunch, binary):
    with serving(binary) as server:
        result = dlaunch("check", "--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{server.port}", "missing.py")
    assert result.rc == 83 and "no dlaunch coordinator" in result.out
