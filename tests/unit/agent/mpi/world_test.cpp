#include "agent/mpi/world.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(NodeRanks, survive_the_store) {
    const NodeRanks node{"node 1 = a", {{0, 2, 0}, {8, 3, 2}}};
    EXPECT_EQ(encode(node), "0+2@0,8+3@2, node 1 = a");
    EXPECT_EQ(decode(encode(node)), node);
    EXPECT_EQ(decode(" empty"), (NodeRanks{"empty", {}}));
}

TEST(NodeRanks, other_bytes_are_none) {
    for (const char* text : {"", "0+2@0", "x+2@0, n", "-1+2@0, n", "0+2, n", "0+99999999999@0, n"})
        EXPECT_FALSE(decode(text)) << text;
}

TEST(NodeRanks, come_from_the_plan_and_the_assignment) {
    Plan plan;
    plan.host.name = "node2";
    plan.contexts[0].appnum = 1;
    plan.contexts.push_back({});
    plan.contexts[1].appnum = 3;
    Assignment round;
    round.ranks.blocks = {{.count = 1, .first_rank = 4}, {.count = 2, .first_rank = 7}};
    EXPECT_EQ(ranks_here(plan, round), (NodeRanks{"node2", {{4, 1, 1}, {7, 2, 3}}}));
}

TEST(MpiWorld, knows_the_node_of_each_rank) {
    const MpiWorld world{0, {{"a", {{0, 1, 0}, {2, 2, 1}}}, {"b", {{1, 1, 0}, {4, 1, 1}}}}};
    EXPECT_EQ(world.size(), 5);
    EXPECT_EQ(world.nodes_by_rank(), (std::vector<int>{0, 1, 0, 0, 1}));
}

TEST(MpiWorld, ranks_with_holes_are_none) {
    EXPECT_FALSE((MpiWorld{0, {{"a", {{0, 2, 0}}}, {"b", {{1, 1, 0}}}}}.nodes_by_rank()));
    EXPECT_FALSE((MpiWorld{0, {{"a", {{1, 2, 0}}}}}.nodes_by_rank()));
}

}  // namespace
}  // namespace dlaunch::agent
