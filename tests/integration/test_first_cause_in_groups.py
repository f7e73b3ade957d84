"""The first cause in groups of some ranks: two rows of tensor parallel ranks, and data parallel pairs across them. The
culprit leaves all groups, and exits after its peers. Its message is one of a rank that has lost a peer.
"""
# ctest: timeout 120

import re

import pytest

from linked import linked

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>
#include <dlaunch/dlaunch.hpp>

int main() {
    const int rank = std::atoi(std::getenv("RANK")), culprit = std::atoi(std::getenv("CULPRIT"));
    std::fprintf(stderr, "loading shard %d\n", rank);  // an earlier line is no cause
    try {
        dlaunch::InitOptions options;
        const int size = std::atoi(std::getenv("WORLD_SIZE")), width = size / 2;
        if (std::getenv("REVERSED")) options.rank = size - 1 - rank, options.world_size = size;
        const dlaunch::ProcessGroup world = dlaunch::init_process_group(options);
        const dlaunch::ProcessGroup row = world.split(rank / width), column = world.split(rank % width);
        std::vector<float> data(100);
        const int other = std::atoi(std::getenv("OTHER") ? std::getenv("OTHER") : "-1");
        for (int step = 0; step < 30; ++step) {
            row.all_reduce(std::span(data).first(rank == other && step == 15 ? 10 : 100));
            if (rank == culprit && step == 15) throw std::runtime_error("cannot reach server db7: Connection refused");
            column.all_reduce(data);
        }
    } catch (const std::exception& error) {
        const std::string text = error.what();
        dlaunch::destroy_process_group();
        if (rank == culprit) usleep(300000);
        std::fprintf(stderr, "stage %d: %s\n", rank, text.c_str());
        return 5;
    }
}
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    return linked(tmp_path_factory.mktemp("groups") / "parallel", PROGRAM)


@pytest.mark.parametrize("culprit", range(6))
@pytest.mark.parametrize("where", [["--nproc-per-node=6"], ["--launcher=fork", "--hosts=a:3,b:3"]], ids=["a node", "two hosts"])
def test_the_culprit_is_named(dlaunch, program, where, culprit):
    result = dlaunch(*where, program, env={"CULPRIT": culprit})
    assert result.rc == 5 and re.search(rf"^dlaunch: rank {culprit} \(", result.err, re.M), result.err


@pytest.mark.parametrize("culprit", [1, 5])
def test_the_culprit_is_named_before_a_restart(dlaunch, program, culprit):
    """Each host has the messages of its own ranks only, and only the messages of all hosts together lead to the culprit."""
    result = dlaunch("--launcher=fork", "--hosts=a:3,b:3", "--max-restarts=1", "--crash-loop=0", program, env={"CULPRIT": culprit})
    before = result.err.split("dlaunch: restarting all workers")
    assert result.rc == 5 and len(before) == 2, result.err
    assert re.search(rf"^dlaunch: rank {culprit} \(.*exited with 5", before[0], re.M), result.err


@pytest.mark.parametrize("other", range(6))
@pytest.mark.parametrize("where", [["--nproc-per-node=6"], ["--launcher=fork", "--hosts=a:3,b:3"]], ids=["a node", "two hosts"])
def test_the_rank_whose_call_differs_is_named(dlaunch, program, where, other):
    result = dlaunch(*where, program, env={"CULPRIT": -1, "OTHER": other})
    assert result.rc == 5 and re.search(rf"^dlaunch: rank {other} \(", result.err, re.M), result.err


def test_ranks_of_a_world_of_its_own_are_named_by_rank(dlaunch, program):
    result = dlaunch("--nproc-per-node=6", program, env={"CULPRIT": 1, "REVERSED": 1})
    assert result.rc == 5 and re.search(r"^dlaunch: rank 1 \(", result.err, re.M), result.err
