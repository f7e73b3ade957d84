#include "rendezvous/rounds/waiting.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using Names = std::vector<std::string>;

TEST(Waiting, names_the_missing_hosts) {
    EXPECT_EQ(waiting_text(7, 8, {"node5"}), "7 of 8 nodes, waiting for: node5");
    EXPECT_EQ(waiting_text(6, 8, {"node5", "node7"}), "6 of 8 nodes, waiting for: node5, node7");
}

TEST(Waiting, counts_nodes_where_their_names_are_not_known) { EXPECT_EQ(waiting_text(2, 3, {}), "2 of 3 nodes"); }

TEST(Waiting, does_not_fill_the_screen) {
    EXPECT_EQ(waiting_text(1, 11, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}),
              "1 of 11 nodes, waiting for: a, b, c, d, e, f, g, h and 2 more");
}

TEST(GoingOn, names_what_changes) {
    EXPECT_EQ(going_on_text(1, {"b"}, {}), "going on with 1 node, without b");
    EXPECT_EQ(going_on_text(2, {"b"}, {"c"}), "going on with 2 nodes, c in place of b");
    EXPECT_EQ(going_on_text(9, {"a", "b"}, {"c", "d"}), "going on with 9 nodes, c, d in place of a, b");
}

TEST(Waiting, names_a_host_as_often_as_it_lacks_agents) {
    EXPECT_EQ(missing_hosts({"a", "a", "b"}, {"a"}), (Names{"a", "b"}));
    EXPECT_EQ(missing_hosts({"a", "b"}, {"c"}), (Names{"a", "b"}));
    EXPECT_EQ(missing_hosts({"a"}, {"a"}), Names{});
    EXPECT_EQ(missing_hosts({"node1", "node10"}, {"node1.cluster"}), Names{"node10"}) << "a short name and a full one";
    EXPECT_EQ(missing_hosts({"Node1", "node2"}, {"node1.cluster", "NODE2"}), Names{}) << "in any case";
}

}  // namespace
}  // namespace dlaunch::rendezvous
