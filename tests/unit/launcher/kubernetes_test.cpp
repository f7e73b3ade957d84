#include "launcher/kubernetes.hpp"

#include <gtest/gtest.h>

#include "launcher/command_line.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

agent::RendezvousPlan planned(std::vector<std::string> options, agent::Variables environment) {
    options.insert(options.begin(), "dlaunch");
    options.emplace_back("./prog");
    return read_command_line(options, small_machine(std::move(environment)))->plan.rendezvous;
}

TEST(Kubernetes, TheCompletionIndexIsTheNodeRank) {
    EXPECT_EQ(planned({"--nnodes=4"}, {{"JOB_COMPLETION_INDEX", "3"}}).node_rank, 3);
    EXPECT_EQ(planned({"--nnodes=2:4"}, {{"JOB_COMPLETION_INDEX", "0"}}).node_rank, 0);
}

TEST(Kubernetes, ANodeRankOfTheUserTakesPrecedence) {
    EXPECT_EQ(planned({"--nnodes=4", "--node-rank=1"}, {{"JOB_COMPLETION_INDEX", "3"}}).node_rank, 1);
    EXPECT_EQ(planned({"--nnodes=4"}, {{"JOB_COMPLETION_INDEX", "3"}, {"PET_NODE_RANK", "2"}}).node_rank, 2);
    EXPECT_EQ(planned({"--nnodes=4"}, {{"JOB_COMPLETION_INDEX", "3"}, {"DLAUNCH_NODE_RANK", "2"}}).node_rank, 2);
}

TEST(Kubernetes, AJobOfOneNodeIgnoresIt) {
    EXPECT_EQ(planned({}, {{"JOB_COMPLETION_INDEX", "3"}}).node_rank, std::nullopt);
    EXPECT_EQ(planned({"--master-port=29501"}, {{"JOB_COMPLETION_INDEX", "3"}}).node_rank, std::nullopt);
    EXPECT_EQ(planned({"--standalone"}, {{"JOB_COMPLETION_INDEX", "3"}}).node_rank, std::nullopt);
}

TEST(Kubernetes, AnIndexBeyondTheJobOnlyOrders) {
    const auto spare = planned({"--nnodes=2:3"}, {{"JOB_COMPLETION_INDEX", "3"}});
    EXPECT_EQ(spare.node_rank, std::nullopt);
    EXPECT_EQ(spare.order_key, "3");
    EXPECT_EQ(planned({"--nnodes=2:3"}, {{"JOB_COMPLETION_INDEX", "x"}}).order_key, "");
}

}  // namespace
}  // namespace dlaunch::launcher
