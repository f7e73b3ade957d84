#include "rendezvous/store/relay/relay.hpp"

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/server/server.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"
#include "tests/unit/rendezvous/store/core/core_fixture.hpp"

namespace dlaunch::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::le64;

const std::string kHello(wire::kGreeting);
const std::string kKey = le64(3) + "key", kGetKey = "\x03" + kKey, kPing = "\x0D" + std::string("\1\2\3\4");
const std::string kWaitKey = "\x06" + le64(1) + kKey;
const std::string kStop(1, '\0');

std::string set_key(std::string_view value) { return "\x01" + kKey + vec(value); }

std::string add_one(std::string_view key) { return "\x04" + vec(key) + le64(1); }

/// A store for trunks, and a relay to it.
struct Relayed {
    explicit Relayed(bool with_token = false, base::Duration patience = seconds(5)) {
        if (with_token) tls = *auth::TlsContext::of(auth::Token("a-token-of-this-test"));
        serve_store(0);
        auto listener = open_listener("127.0.0.1", 0);
        relay = *Relay::serve(
            loop, std::move(listener->socket),
            {.host = "127.0.0.1", .port = store->port(), .key = "round", .tls = tls, .patience = patience}, {},
            [this](const std::string& line) { lines.push_back(line); });
    }
    void serve_store(int port) {
        ServerHooks hooks;
        hooks.takes_trunks = true;
        hooks.serves_requests = false;
        hooks.tls = tls;
        store = *Server::listen(loop, "127.0.0.1", port, std::move(hooks));
        store->take_trunks("round");
    }
    base::Loop loop;
    auth::TlsContextPtr tls;
    std::unique_ptr<Server> store;
    std::unique_ptr<Relay> relay;
    std::vector<std::string> lines;
};

class RelayTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Plain, RelayTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, RelayTest, ::testing::Values(true));

TEST_P(RelayTest, workers_use_the_store) {
    Relayed relayed(GetParam());
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port()), two(relayed.relay->port());
        one.send(kHello + kPing + kWaitKey);
        EXPECT_EQ(one.receive(4), "\1\2\3\4");
        two.send(kHello + add_one("n") + set_key("seven"));
        EXPECT_EQ(two.receive(8), le64(1));
        EXPECT_EQ(one.receive(1), kStop);
        one.send(kGetKey + add_one("n"));
        EXPECT_EQ(one.receive(13 + 8), vec("seven") + le64(2));
    });
}

TEST_P(RelayTest, requests_before_an_end_reach_the_store) {
    Relayed relayed(GetParam());
    Peer last(relayed.relay->port()), reader(relayed.relay->port());
    last.send(kHello + set_key("gone"));
    base::Timer end =
        relayed.loop.after(milliseconds(0), [&] { relayed.relay->drain(seconds(5), [&] { relayed.loop.stop(); }); });
    relayed.loop.run();
    with_clients(relayed.loop, [&] {
        reader.send(kHello + kGetKey);
        EXPECT_EQ(reader.receive(8 + 4), vec("gone"));
    });
}

TEST_P(RelayTest, large_values_pass_both_ways) {
    Relayed relayed(GetParam());
    const std::string large(8 << 20, 'x');
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port()), two(relayed.relay->port());
        one.send(kHello + set_key(large) + kGetKey + kGetKey);
        EXPECT_TRUE(one.receive(2 * (8 + large.size())) == vec(large) + vec(large));
        two.send(kHello + kGetKey + kPing);
        EXPECT_TRUE(two.receive(8 + large.size() + 4) == vec(large) + "\1\2\3\4");
    });
}

TEST_P(RelayTest, a_worker_that_does_not_read_delays_no_other_and_gets_all_later) {
    Relayed relayed(GetParam());
    const std::string large(1 << 20, 'x');
    std::string many = "\x0A" + le64(64);
    for (int key = 0; key < 64; ++key) many += kKey;
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port()), two(relayed.relay->port());
        one.send(kHello + set_key(large) + many + kPing);
        two.send(kHello + kWaitKey + add_one("n"));
        EXPECT_EQ(two.receive(1 + 8).size(), 9U);
        for (int key = 0; key < 64; ++key) EXPECT_EQ(one.receive(8 + large.size()).size(), 8 + large.size());
        EXPECT_EQ(one.receive(4), "\1\2\3\4");
    });
}

TEST_P(RelayTest, the_store_may_begin_later) {
    Relayed relayed(GetParam());
    const int port = relayed.store->port();
    relayed.store.reset();
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port());
        one.send(kHello + add_one("n"));
        relayed.loop.post([&] { relayed.serve_store(port); });
        EXPECT_EQ(one.receive(8), le64(1));
    });
    EXPECT_TRUE(relayed.lines.empty());
}

TEST_P(RelayTest, a_lost_store_closes_the_workers_connections) {
    Relayed relayed(GetParam());
    const int port = relayed.store->port();
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port()), unused(relayed.relay->port());
        one.send(kHello + add_one("n") + kWaitKey);
        EXPECT_EQ(one.receive(8), le64(1));
        relayed.loop.post([&] {
            relayed.store.reset();
            relayed.serve_store(port);
        });
        EXPECT_TRUE(one.closed());
        unused.send(kHello + add_one("n"));
        EXPECT_EQ(unused.receive(8), le64(1));
    });
    EXPECT_TRUE(relayed.lines.empty());
}

TEST(Relay, gives_a_store_up_that_cannot_be_reached) {
    Relayed relayed(false, milliseconds(100));
    const std::string place = "127.0.0.1:" + std::to_string(relayed.store->port());
    relayed.store.reset();
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port());
        one.send(kHello + kWaitKey);
        EXPECT_TRUE(one.closed());
    });
    EXPECT_EQ(relayed.lines, std::vector<std::string>{"the round's store at " + place +
                                                      " cannot be reached: Connection refused; the connections of this "
                                                      "node's workers to it are closed"});
}

TEST(Relay, serves_clients_of_torch_1_13) {
    Relayed relayed;
    const std::string set = std::string(1, '\0') + kKey + vec("seven"), get = "\x02" + kKey,
                      wait = "\x05" + le64(1) + vec("none"), count = "\x06";
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port()), two(relayed.relay->port());
        one.send(set + get + wait);
        EXPECT_EQ(one.receive(13), vec("seven"));
        one.send(count);
        EXPECT_EQ(one.receive(8), le64(1));
        two.send(std::string(1, '\0') + vec("none") + vec("") + count);
        EXPECT_EQ(two.receive(8), le64(2));
        one.send(get);
        EXPECT_EQ(one.receive(13), vec("seven"));
    });
}

TEST(Relay, answers_what_came_before_nonsense) {
    Relayed relayed;
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port());
        one.send(kHello + kWaitKey + kPing + add_one("n") + "\xEE" + kPing);
        EXPECT_EQ(one.receive(12), "\1\2\3\4" + le64(1));
        EXPECT_TRUE(one.closed());
    });
}

TEST(Relay, closes_a_client_that_is_not_admitted) {
    base::Loop loop;
    auto listener = open_listener("127.0.0.1", 0);
    const auto relay = *Relay::serve(loop, std::move(listener->socket), {}, [](int) { return false; });
    with_clients(loop, [&] { EXPECT_TRUE(Peer(relay->port()).closed()); });
}

TEST(Relay, takes_no_trunks_and_no_members) {
    Relayed relayed;
    with_clients(relayed.loop, [&] {
        Peer one(relayed.relay->port());
        std::string bytes = kHello;
        wire::put_hello(bytes, "round");
        one.send(bytes);
        EXPECT_TRUE(one.closed());
    });
}

}  // namespace
}  // namespace dlaunch::store
