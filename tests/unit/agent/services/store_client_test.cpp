#include "agent/services/store_client.hpp"

#include <gtest/gtest.h>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/server/threaded_server.hpp"
#include "tests/support/agent/turn.hpp"

namespace dlaunch::agent {
namespace {

using Values = StoreClient::Values;
using Server = std::unique_ptr<store::ThreadedServer>;

Server serve(int port = 0) {
    return *store::ThreadedServer::adopt(std::move(store::open_listener("127.0.0.1", port)->socket));
}

class StoreClientTest : public testing::Test {
protected:
    /// A callback that adds its result to `results`: values, or the error in brackets.
    StoreClient::Done note() {
        return [this](const base::Result<Values>& result) {
            results.push_back(result ? *result : Values{"(" + result.error().text + ")"});
        };
    }
    void await(std::size_t count) {
        while (results.size() < count) await_callback(loop);
    }

    base::Loop loop;
    Server server = serve();
    StoreClient client{loop, "127.0.0.1", server->port()};
    std::vector<Values> results;
};

TEST_F(StoreClientTest, sets_a_key_only_if_it_is_missing) {
    client.set_if_missing("a", "1", note());
    client.set_if_missing("a", "2", note());
    await(2);
    EXPECT_EQ(results, (std::vector<Values>{{"1"}, {"1"}}));
}

TEST_F(StoreClientTest, sets_finds_and_removes) {
    client.find("a", note());
    client.set("a", "1", note());
    client.find("a", note());
    client.remove("a", note());
    client.remove("a", note());
    client.find("a", note());
    await(6);
    EXPECT_EQ(results, (std::vector<Values>{{}, {}, {"1"}, {"1"}, {"0"}, {}}));
}

TEST_F(StoreClientTest, an_exchange_waits_for_all) {
    StoreClient other(loop, "localhost", server->port());
    client.exchange("x/0", "zero", {"x/0", "x/1"}, note());
    other.exchange("x/1", std::string(3UL << 20, 'b'), {"x/0", "x/1"}, note());
    await(2);
    const Values both{"zero", std::string(3UL << 20, 'b')};
    EXPECT_EQ(results[0], both);
    EXPECT_EQ(results[1], both);
}

TEST_F(StoreClientTest, a_get_waits_for_its_key) {
    StoreClient other(loop, "127.0.0.1", server->port());
    client.get({"late"}, note());
    other.set("late", "here", [](const auto&) {});
    await(1);
    EXPECT_EQ(results[0], Values{"here"});
}

TEST_F(StoreClientTest, a_call_is_repeated_at_the_next_server_of_the_port) {
    const int port = server->port();
    client.exchange("x/0", "zero", {"x/0", "x/1"}, note());
    client.find("none", note());
    StoreClient other(loop, "127.0.0.1", port);
    bool is_set = false;
    other.set("seen", "1", [&](const auto&) { is_set = true; });
    while (!is_set) await_callback(loop);
    server.reset();
    server = serve(port);
    other.set("x/1", "one", {});
    await(2);
    EXPECT_EQ(results, (std::vector<Values>{{"zero", "one"}, {}}));
}

TEST_F(StoreClientTest, a_callback_may_call) {
    client.set("a", "1", [&](const auto&) { client.remove("a", note()); });
    await(1);
    client.find("a", note());
    client.find("b", note());
    await(3);
    EXPECT_EQ(results, (std::vector<Values>{{"1"}, {}, {}}));
}

TEST_F(StoreClientTest, a_callback_may_destroy_the_client) {
    auto own = std::make_unique<StoreClient>(loop, "127.0.0.1", server->port());
    own->set("a", "1", [&](const auto&) { own.reset(); });
    own->set("b", "2", note());
    while (own) await_callback(loop);
    turn(loop);
    EXPECT_TRUE(results.empty());
}

TEST_F(StoreClientTest, a_destroyed_client_calls_nothing_back) {
    auto own = std::make_unique<StoreClient>(loop, "localhost", server->port());
    own->set("a", "1", note());
    own.reset();
    turn(loop);
    EXPECT_TRUE(results.empty());
}

}  // namespace
}  // namespace dlaunch::agent
