#include "rendezvous/rounds/ranks.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

RankRequest request(std::string host, std::optional<std::int32_t> last = {}, std::optional<std::int32_t> claimed = {},
                    std::vector<WorkerBlock> blocks = {{}}) {
    return {std::move(host), "", claimed, last, last.has_value(), 0, std::move(blocks)};
}

std::vector<std::int32_t> group_ranks(const std::vector<RankRequest>& requests) {
    std::vector<std::int32_t> ranks;
    for (const Placement& at : place(requests).of) ranks.push_back(at.group_rank);
    return ranks;
}

using Ranks = std::vector<std::int32_t>;

TEST(Ranks, names_are_ordered_as_humans_count) {
    EXPECT_TRUE(natural_less("node2", "node10"));
    EXPECT_FALSE(natural_less("node10", "node2"));
    EXPECT_TRUE(natural_less("rack1-node20", "rack2-node3"));
    EXPECT_TRUE(natural_less("node", "node1"));
    EXPECT_FALSE(natural_less("node01", "node1"));
    EXPECT_FALSE(natural_less("node1", "node01"));
    EXPECT_TRUE(natural_less("n99999999999999999999", "n100000000000000000000"));
}

TEST(Ranks, follow_the_names_of_hosts) {
    EXPECT_EQ(group_ranks({request("node10"), request("node2"), request("node1")}), (Ranks{2, 1, 0}));
}

TEST(Ranks, follow_the_schedulers_order_when_every_node_has_one) {
    auto a = request("a"), b = request("b"), c = request("c");
    a.order_key = "2", b.order_key = "10", c.order_key = "1";
    EXPECT_EQ(group_ranks({a, b, c}), (Ranks{1, 2, 0}));
    c.order_key.clear();
    EXPECT_EQ(group_ranks({a, b, c}), (Ranks{0, 1, 2}));
}

TEST(Ranks, agents_of_one_host_keep_the_order_in_which_they_joined) {
    auto first = request("a"), second = request("a");
    first.arrival = 2, second.arrival = 1;
    EXPECT_EQ(group_ranks({first, second}), (Ranks{1, 0}));
}

TEST(Ranks, survivors_keep_theirs_and_a_newcomer_takes_the_hole) {
    EXPECT_EQ(group_ranks({request("node1", 0), request("node3", 2), request("node0")}), (Ranks{0, 2, 1}));
}

TEST(Ranks, a_rank_beyond_a_smaller_world_moves_into_its_hole) {
    EXPECT_EQ(group_ranks({request("node1", 0), request("node3", 2)}), (Ranks{0, 1}));
}

TEST(Ranks, a_survivor_comes_before_one_that_returns) {
    auto returned = request("a", 1);
    returned.survivor = false;
    EXPECT_EQ(group_ranks({returned, request("b", 1)}), (Ranks{0, 1}));
}

TEST(Ranks, a_claimed_rank_is_given) {
    EXPECT_EQ(group_ranks({request("a", {}, 2), request("b"), request("c", {}, 0)}), (Ranks{2, 1, 0}));
}

TEST(Ranks, claims_behind_a_smaller_world_keep_their_order) {
    EXPECT_EQ(group_ranks({request("a", {}, 5), request("b", {}, 3), request("c", {}, 0)}), (Ranks{2, 1, 0}));
}

TEST(Ranks, two_claims_of_one_rank_give_a_warning_and_the_natural_order) {
    const std::vector<RankRequest> requests{request("b", {}, 0), request("a", {}, 0)};
    EXPECT_EQ(group_ranks(requests), (Ranks{1, 0}));
    EXPECT_EQ(place(requests).warning, "--node-rank=0 was given to b and to a: ranks follow the order of host names");
}

TEST(Ranks, workers_are_numbered_node_by_node_and_role_by_role) {
    const auto of = place({request("c", {}, {}, {{0, 3, "trainer"}}), request("a", {}, {}, {{0, 1, "trainer"}}),
                           request("b", {}, {}, {{0, 2, "reader"}})})
                        .of;
    EXPECT_EQ(of[0].ranks, (RankLayout{{{3, 3, 1, 4}}}));
    EXPECT_EQ(of[1].ranks, (RankLayout{{{1, 0, 0, 4}}}));
    EXPECT_EQ(of[2].ranks, (RankLayout{{{2, 1, 0, 2}}}));
    for (const Placement& at : of) EXPECT_EQ(at.world_size, 6);
}

TEST(Ranks, workers_of_several_contexts_are_numbered_context_by_context) {
    const auto of = place({request("b", {}, {}, {{1, 2, "worker"}, {2, 1, "eval"}}),
                           request("a", {}, {}, {{0, 1, "ps"}, {1, 2, "worker"}})})
                        .of;
    EXPECT_EQ(of[1].ranks, (RankLayout{{{1, 0, 0, 1}, {2, 1, 0, 4}}}));
    EXPECT_EQ(of[0].ranks, (RankLayout{{{2, 3, 2, 4}, {1, 5, 0, 1}}}));
    for (const Placement& at : of) EXPECT_EQ(at.world_size, 6);
}

TEST(Ranks, contexts_of_one_role_are_counted_together) {
    const auto of = place({request("a", {}, {}, {{0, 1, "w"}, {1, 1, "x"}, {2, 2, "w"}}),
                           request("b", {}, {}, {{0, 2, "w"}, {2, 1, "w"}})})
                        .of;
    EXPECT_EQ(of[0].ranks, (RankLayout{{{1, 0, 0, 6}, {1, 3, 0, 1}, {2, 4, 3, 6}}}));
    EXPECT_EQ(of[1].ranks, (RankLayout{{{2, 1, 1, 6}, {1, 6, 5, 6}}}));
}

}  // namespace
}  // namespace dlaunch::rendezvous
