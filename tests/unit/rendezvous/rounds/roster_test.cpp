#include "rendezvous/rounds/roster.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{1h};

Node& add(Roster& roster, ConnectionId connection, const std::string& id, std::optional<std::int32_t> node_rank) {
    Join join;
    join.stamp.incarnation = 1;
    join.record.id = id;
    join.record.node_rank = node_rank;
    return roster.add(kNow, connection, join);
}

std::vector<std::string> claimants(const Roster& roster, std::int32_t node_rank) {
    std::vector<std::string> ids;
    for (const Node* node : roster.claimants(node_rank)) ids.push_back(node->record.id);
    return ids;
}

TEST(Roster, knows_which_nodes_claim_a_rank) {
    Roster roster;
    add(roster, 1, "d", 1), add(roster, 2, "b", 0), add(roster, 3, "a", {}), add(roster, 4, "c", 0);
    EXPECT_EQ(claimants(roster, 0), (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(claimants(roster, 1), std::vector<std::string>{"d"});
    EXPECT_TRUE(claimants(roster, 2).empty());
    EXPECT_TRUE(roster.is_consistent());
}

TEST(Roster, a_removed_node_claims_no_rank) {
    Roster roster;
    Node& gone = add(roster, 1, "a", 0);
    add(roster, 2, "b", 0);
    roster.remove(kNow, gone);
    EXPECT_EQ(claimants(roster, 0), std::vector<std::string>{"b"});
    roster.remove(kNow, *roster.find("b"));
    EXPECT_TRUE(claimants(roster, 0).empty());
    add(roster, 3, "a", 4);
    EXPECT_EQ(claimants(roster, 4), std::vector<std::string>{"a"});
    EXPECT_TRUE(roster.is_consistent());
}

}  // namespace
}  // namespace dlaunch::rendezvous
