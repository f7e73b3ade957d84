"""Unmodified programs of Open MPI, on one node and on several, and how a job of them ends."""

import os
import re
import signal
from pathlib import Path

import pytest
from hosts import PORT
from mpi_programs import built
from processes import comm, until

pytestmark = pytest.mark.needs("mpicc.openmpi")

# program [VERB RANK]: that rank acts by the verb, between MPI_Init and MPI_Finalize but for `early`.
PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    const int one = argc > 2 ? atoi(argv[2]) : -1, again = atoi(getenv("TORCHELASTIC_RESTART_COUNT"));
    int rank, size, sum, *universe, known;
    if (!strcmp(verb, "early") && atoi(getenv("RANK")) == one) return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &known);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == one && !strcmp(verb, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == one && !strcmp(verb, "exit")) _exit(0);
    if (rank == one && !strcmp(verb, "crash") && !again) raise(SIGKILL);
    if (!strcmp(verb, "stay")) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.ready", getenv("SEEN"), rank);
        fclose(fopen(path, "w"));
        sleep(617);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    char line[200];
    int length = sprintf(line, "rank %d of %d, sum %d, universe %d\n", rank, size, sum, known ? *universe : 0);
    if (write(1, line, length) != length) return 1;
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built("mpicc.openmpi", tmp_path_factory.mktemp("open_mpi"), PROGRAM)


def world(size):
    return [f"rank {rank} of {size}, sum {sum(range(size))}, universe {size}" for rank in range(size)]


def across(hosts, names, program, *args, env=None, options=()):
    """The results of a job with two ranks on each of these hosts, which may be one host several times."""
    net = hosts(*names)
    common = [f"--nnodes={len(net.all)}", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=j", "--nproc-per-node=2", *options]
    settings = {"OMPI_MCA_btl_tcp_if_include": "eth0", **(env or {})}  # Open MPI distinguishes hosts by their addresses
    runs = [host.start(*common, program, *args, env=settings) for host in net.all]
    return [run.wait(60) for run in runs]


def told(results):
    assert {result.rc for result in results} == {0}, "".join(result.err for result in results)
    return sorted("".join(result.out for result in results).splitlines())


@pytest.mark.parametrize("options", [(), ("--mpi=pmix",)], ids=["auto", "named"])
def test_a_world_of_three(dlaunch, program, options):
    assert told([dlaunch("-n", 3, *options, program)]) == world(3)


def test_without_a_protocol_each_rank_is_a_world(start, program):
    """Open MPI then starts a daemon for the rank, and leaves empty folders."""
    assert told([start("-n", 1, "--mpi=none", program).wait(30)]) == ["rank 0 of 1, sum 0, universe 1"]
    several = start("-n", 2, "--mpi=none", program).wait(30)
    assert told([several]) == ["rank 0 of 1, sum 0, universe 1"] * 2
    assert re.match(r"dlaunch: --mpi=none: each MPI process is rank 0 of 1, as .*; --mpi=auto makes", several.err)
    refused = start("-n", 2, program, env={"DLAUNCH_MPI": "none"}).wait(30)
    assert refused.rc == 2 and refused.out == "" and "several would each be rank 0 of 1" in refused.err


def test_a_script_runs_one_program_after_the_other(dlaunch, program, script):
    both = script("both", f"#!/bin/sh\n{program} && exec {program}\n")
    assert told([dlaunch("-n", 2, "--mpi=pmix", both)]) == sorted(world(2) * 2)


def test_a_script_that_starts_a_program_gets_a_line(start, program, script):
    run = script("run", f"#!/bin/sh\nexec {program}\n")
    result = start("-n", 2, run).wait(30)
    assert told([result]) == ["rank 0 of 1, sum 0, universe 1"] * 2
    assert f"{program} behind {run} is linked with libmpi.so.40: with --mpi=pmix its processes are one world" in result.err


def test_nodes_are_one_world(hosts, program):
    assert told(across(hosts, ["node1", "node2"], program)) == world(4)


def test_nodes_that_ask_for_the_data_of_single_ranks(hosts, program):
    env = {"OMPI_MCA_pmix_base_async_modex": 1, "OMPI_MCA_pmix_base_collect_data": 0}
    assert told(across(hosts, ["node1", "node2"], program, env=env)) == world(4)


def test_two_agents_on_one_machine(hosts, program):
    host = hosts(1)[0]
    common = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", "--rdzv-id=j", "--nproc-per-node=2"]
    runs = [host.start(*common, program, env={"OMPI_MCA_btl_tcp_if_include": "eth0"}) for _ in range(2)]
    assert told([run.wait(60) for run in runs]) == world(4)


def test_the_server_outlives_signals_to_every_process(start, program, seen):
    run = start("-n", 2, program, "stay")
    until(lambda: len(list(seen.glob("*.ready"))) == 2, 20, "the start of the ranks")
    server = until(lambda: [pid for pid in run.living() if comm(pid) == "dlaunch-pmix"], 5, "the server")[0]
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(server, number)
    run.signal(signal.SIGTERM)
    result = run.wait()
    assert result.rc == 143 and "PMIx" not in result.err, result.err


def test_an_abort_has_its_code_on_all_nodes(hosts, program):
    for result in across(hosts, ["node1", "node2"], program, "abort", 3):
        assert result.rc == 7
        assert re.search(r"^dlaunch: rank 3 .* called MPI_Abort with 7", result.err, re.MULTILINE), result.err


def test_a_rank_of_another_node_that_never_joins(hosts, program):
    for result in across(hosts, ["node1", "node2"], program, "early", 3):
        assert result.rc == 1
        assert re.search(r"^dlaunch: rank 3 .* without MPI_Init", result.err, re.MULTILINE), result.err


@pytest.mark.parametrize("store", ["open", "relay"])
def test_a_rank_alone_on_its_node_that_never_joins(dlaunch, program, store):
    result = dlaunch("--launcher=fork", "--hosts=a,b", f"--store={store}", program, "early", 1)
    assert result.rc == 1
    assert "waits for rank 1, which exited with 0 without MPI_Init" in result.err, result.err


@pytest.mark.parametrize("verb, missing", [("exit", "before MPI_Finalize"), ("early", "without MPI_Init")])
def test_a_rank_that_leaves_the_others_waiting(dlaunch, program, verb, missing):
    result = dlaunch("-n", 3, program, verb, 1)
    assert result.rc == 1
    assert re.search(rf"^dlaunch: rank 1 .* exited with 0 {missing}", result.err, re.MULTILINE), result.err


def test_a_restart_is_a_new_world(dlaunch, program):
    assert told([dlaunch("-n", 2, "--max-restarts=1", program, "crash", 1)]) == world(2)


def test_killed_ranks_leave_no_files(hosts, program, tmpdir_of_job):
    """The host has a /dev/shm of its own."""
    host = hosts(1)[0]
    assert host.start("-n", 3, program, "crash", 1).wait(60).rc == 137
    assert os.listdir(tmpdir_of_job) == [] and os.listdir(f"/proc/{host.init}/root/dev/shm") == []


def servers(run):
    return [pid for pid in run.living() if comm(pid) == "dlaunch-pmix"]


def staying(start, program, seen, **more):
    run = start("-n", 2, program, "stay", **more)
    until(lambda: run.ended() or len(list(seen.glob("*.ready"))) == 2, 30, "the ranks")
    return run


def test_the_end_of_the_server_is_the_jobs(start, program, seen):
    run = staying(start, program, seen)
    (server,) = servers(run)
    os.kill(server, signal.SIGKILL)
    result = run.wait(20)
    assert result.rc == 1 and "lost the PMIx server of its node, which was killed by SIGKILL" in result.err
    run.nothing_left()


def test_the_guard_removes_the_files_of_a_killed_agent(start, program, seen, tmpdir_of_job):
    run = staying(start, program, seen)
    mine = [path.name for path in tmpdir_of_job.glob("dlaunch-mpi-*")]
    assert len(mine) == 1 and Path("/dev/shm", mine[0]).is_dir()
    os.kill(run.agent(), signal.SIGKILL)
    assert run.wait(20).rc == 137
    run.nothing_left()
    assert os.listdir(tmpdir_of_job) == [] and not Path("/dev/shm", mine[0]).exists()


def test_a_broken_library_starts_nothing(dlaunch, program, tmp_path):
    (tmp_path / "libpmix.so.2").write_text("no library")
    result = dlaunch("-n", 2, "--max-restarts=3", program, env={"LD_LIBRARY_PATH": tmp_path})
    assert result.rc == 127 and result.out == "" and "0 of 3 were used" in result.err
    assert re.search(r"^dlaunch: rank 0 .* was not started: PMIx cannot be loaded: .*/libpmix\.so\.2: file too short$", result.err, re.MULTILINE)
    assert re.search(r"^  was not started: .*libpmix\.so\.2: file too short", result.err, re.MULTILINE)
