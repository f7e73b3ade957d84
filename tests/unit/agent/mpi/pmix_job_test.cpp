#include "agent/mpi/pmix_job.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Names = std::vector<std::string>;

/// A context of one rank on the first node, and one of four on two nodes.
const MpiWorld kWorld{1, {{"node1", {{0, 1, 0}, {1, 2, 1}}}, {"node2", {{3, 2, 1}}}}};

TEST(PmixJob, PassesThroughAMessage) {
    const PmixJob job{"dlaunch-29500-0", "/tmp/with blank", "/dev/shm/x", kWorld};
    const PmixJob read = to_job(to_message(job));
    EXPECT_EQ(read.space, job.space);
    EXPECT_EQ(read.folder, job.folder);
    EXPECT_EQ(read.memory, job.memory);
    EXPECT_EQ(read.world.here, 1);
    EXPECT_EQ(read.world.nodes, job.world.nodes);
}

TEST(NodeNames, AHostWithSeveralAgentsIsSeveralNodes) {
    EXPECT_EQ(node_names(kWorld), (Names{"node1", "node2"}));
    EXPECT_EQ(node_names({0, {{"a", {}}, {"b", {}}, {"a", {}}}}), (Names{"a-0", "b", "a-2"}));
}

TEST(RanksByNode, AreListedInTheOrderOfTheNodes) {
    EXPECT_EQ(ranks_by_node(kWorld), "0,1,2;3,4");
    EXPECT_EQ(ranks_by_node({0, {{"a", {{0, 1, 0}, {2, 1, 1}}}, {"b", {{1, 1, 0}, {3, 1, 1}}}}}), "0,2;1,3");
    EXPECT_EQ(ranks_of(kWorld.nodes[0]), (std::vector{0, 1, 2}));
}

}  // namespace
}  // namespace dlaunch::agent
