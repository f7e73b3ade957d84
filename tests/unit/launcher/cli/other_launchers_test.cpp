#include "launcher/cli/other_launchers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "launcher/cli/suggest.hpp"

namespace dlaunch::launcher {
namespace {

void expect(std::string_view part, std::initializer_list<std::string_view> options) {
    for (const std::string_view option : options)
        EXPECT_NE(hint_for_other_launchers(option).find(part), std::string_view::npos) << option;
}

TEST(OtherLaunchers, WorkersPerNodeAndInAll) {
    expect("--nproc-per-node?", {"ppn", "ntasks-per-node", "tasks-per-node"});
    expect("-n (workers of all nodes)", {"ntasks", "num-processes"});
}

TEST(OtherLaunchers, GpusOfSlurm) {
    expect("--nproc-per-node=gpu", {"gres", "gpus", "gpus-per-node", "G4"});
    expect("--virtual-local-rank", {"gpus-per-task", "gpu-bind"});
    EXPECT_EQ(suggestion("gres", "--").find("grace"), std::string::npos);
}

TEST(OtherLaunchers, ResourcesOfSlurm) { expect("--launcher-args", {"partition", "p", "mem", "exclusive", "jobid"}); }

TEST(OtherLaunchers, ASrunThatGoesOnWithoutANode) { expect("--nnodes=MIN:MAX", {"no-kill", "k"}); }

TEST(OtherLaunchers, OwnNamesAndPrograms) {
    for (const std::string_view name : {"", "4", "nproc", "grace-period"})
        EXPECT_EQ(hint_for_other_launchers(name), "");
}

}  // namespace
}  // namespace dlaunch::launcher
