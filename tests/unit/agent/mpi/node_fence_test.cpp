#include "agent/mpi/node_fence.hpp"

#include <gtest/gtest.h>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/server/threaded_server.hpp"
#include "tests/support/agent/turn.hpp"

namespace dlaunch::agent {
namespace {

using Values = std::vector<std::string>;

class NodeFenceTest : public testing::Test {
protected:
    Assignment round_of(int node, int nodes = 2) const {
        Assignment round;
        round.round = 4;
        round.group_rank = node;
        round.group_world_size = nodes;
        round.world_size = 3;
        round.master_addr = "127.0.0.1";
        round.master_port = server->port();
        if (node == 0) round.ranks.blocks = {{.count = 1, .first_rank = 0}};
        if (node == 1) round.ranks.blocks = {{.count = 2, .first_rank = 1}};
        return round;
    }
    NodeFence::Done note() {
        return [this](const base::Result<Values>& all) { results.push_back(all ? *all : Values{all.error().text}); };
    }
    void await(std::size_t count) {
        while (results.size() < count) await_callback(loop);
    }

    base::Loop loop;
    std::unique_ptr<store::ThreadedServer> server =
        *store::ThreadedServer::adopt(std::move(store::open_listener("127.0.0.1", 0)->socket));
    std::vector<Values> results;
};

TEST_F(NodeFenceTest, nodes_get_the_contributions_of_all_in_each_fence) {
    NodeFence first(loop, round_of(0), "f"), second(loop, round_of(1), "f");
    for (const char* number : {"0", "1", "2"}) {
        first.enter(std::string("a") + number, note());
        second.enter(std::string("b") + number, note());
    }
    await(6);
    for (std::size_t at = 0; at < 6; ++at) {
        const std::string number = results[at][0].substr(1);
        EXPECT_EQ(results[at], (Values{"a" + number, "b" + number}));
    }
}

TEST_F(NodeFenceTest, keys_of_the_last_fence_only_stay) {
    NodeFence first(loop, round_of(0), "f"), second(loop, round_of(1), "f");
    for (int count = 0; count < 3; ++count) {
        first.enter("a", note());
        second.enter("b", note());
    }
    await(6);
    StoreClient store(loop, "127.0.0.1", server->port());
    for (const char* key : {"dlaunch/mpi/4/f/2/0", "dlaunch/mpi/4/f/0/0", "dlaunch/mpi/4/f/0/1"})
        store.find(key, note());
    await(9);
    EXPECT_EQ(results[6], Values{"a"});
    EXPECT_EQ(results[7], Values{});
    EXPECT_EQ(results[8], Values{});
}

TEST_F(NodeFenceTest, one_node_needs_no_store) {
    NodeFence fence(loop, round_of(0, 1), "f");
    server.reset();
    fence.enter("a", note());
    EXPECT_TRUE(results.empty());
    await(1);
    EXPECT_EQ(results[0], Values{"a"});
}

TEST_F(NodeFenceTest, a_contribution_over_the_limit_is_an_error) {
    NodeFence fence(loop, round_of(0), "f");
    fence.enter(std::string(StoreClient::kMostValueBytes + 1, 'x'), note());
    await(1);
    EXPECT_EQ(results[0], Values{"a node's contribution has 8388609 bytes, expected at most 8388608"});
}

TEST_F(NodeFenceTest, the_world_is_gathered) {
    Plan plan;
    plan.host.name = "node";
    NodeFence first(loop, round_of(0), "f"), second(loop, round_of(1), "f");
    std::vector<MpiWorld> worlds;
    const auto take = [&](const base::Result<MpiWorld>& world) {
        ASSERT_TRUE(world) << world.error().text;
        worlds.push_back(*world);
    };
    first.gather_world(MpiFamily::pmi1, plan, round_of(0), take);
    second.gather_world(MpiFamily::pmi1, plan, round_of(1), take);
    while (worlds.size() < 2) await_callback(loop);
    EXPECT_NE(worlds[0].here, worlds[1].here);
    EXPECT_NE(worlds[0].number, 0U);
    EXPECT_EQ(worlds[0].number, worlds[1].number);
    for (const MpiWorld& world : worlds) {
        EXPECT_EQ(world.nodes, (std::vector<NodeRanks>{{"node", {{0, 1, 0}}}, {"node", {{1, 2, 0}}}}));
    }
}

TEST_F(NodeFenceTest, ranks_that_are_no_world_are_an_error) {
    for (const char* bytes : {"rubbish", "pmi1 rubbish", "pmi1 7", "pmi1 7 rubbish"}) {
        NodeFence first(loop, round_of(0), bytes), second(loop, round_of(1), bytes);
        std::string error;
        first.gather_world(MpiFamily::pmi1, {}, round_of(0),
                           [&](const base::Result<MpiWorld>& world) { error = world.error().text; });
        second.enter(bytes, [](const auto&) {});
        while (error.empty()) await_callback(loop);
        EXPECT_EQ(error, "the round's store has no ranks of a node, but other bytes");
    }
}

TEST_F(NodeFenceTest, a_node_with_another_protocol_is_an_error) {
    Plan plan;
    plan.host.name = "node";
    NodeFence first(loop, round_of(0), kWorldFence), second(loop, round_of(1), kWorldFence);
    std::string error;
    const auto take = [&](const base::Result<MpiWorld>& world) { error = world.error().text; };
    first.gather_world(MpiFamily::pmi1, plan, round_of(0), take);
    second.gather_world(MpiFamily::pmix, plan, round_of(1), [](const auto&) {});
    while (error.empty()) await_callback(loop);
    EXPECT_EQ(error, "node has --mpi=pmix, expected pmi1 as here");
}

}  // namespace
}  // namespace dlaunch::agent
