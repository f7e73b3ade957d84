// The server's limit on keys, values and queues, with raw sockets over loopback.

#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "rendezvous/store/server/server.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::hex;
using wire::le64;
using wire::StoreOperation;

const std::string kHello(wire::kGreeting);
const std::string kPing = hex("0D 01000000");

std::string ask(StoreOperation message, std::string_view key, std::string_view value = "") {
    std::string bytes;
    wire::encode(wire::about(message, key, value), bytes);
    return bytes;
}

std::string set(std::string_view key, std::string_view value) { return ask(StoreOperation::set, key, value); }

std::string get(std::string_view key) { return ask(StoreOperation::get, key); }

TEST(ServerKeeps, a_request_that_the_store_has_no_room_for_ends_its_connection_and_no_other) {
    base::Loop loop;
    ServerLimits limits;
    limits.kept_bytes = 1 << 20;
    ServerHooks hooks;
    std::vector<std::string> lines;
    hooks.warn = [&](const std::string& line) { lines.push_back(line); };
    const auto server = *Server::listen(loop, "127.0.0.1", 0, hooks, limits);
    with_clients(loop, [&] {
        const std::string half(500'000, 'v'), one = le64(1);
        Peer modest(server->port()), greedy(server->port()), next(server->port());
        modest.send(kHello + set("a", half) + kPing);
        EXPECT_EQ(modest.receive(4), hex("01000000"));
        greedy.send(kHello + set("b", half) + set("evil\n", half));
        EXPECT_TRUE(greedy.closed());
        next.send(kHello + set("c", half));
        EXPECT_TRUE(next.closed());
        modest.send(ask(StoreOperation::num_keys, "") + ask(StoreOperation::delete_key, "b") + set("c", half));
        EXPECT_EQ(modest.receive(16), le64(2) + one);
        modest.send(ask(StoreOperation::num_keys, "") + get("c"));
        EXPECT_EQ(modest.receive(16 + half.size()), le64(2) + le64(half.size()) + half);
    });
    ASSERT_EQ(lines.size(), 1U);  // of two within a minute
    EXPECT_EQ(lines[0],
              "the store at " + server->endpoint() +
                  " is full: key \"evil\\x0a\" would exceed 1 MiB of keys, values and queues; its client was "
                  "disconnected. Delete keys that are no longer needed, or exchange large data through files");
}

TEST(ServerKeeps, a_shared_port_keeps_little_while_no_round_runs) {
    ServerLimits limits;
    limits.unexpected_kept_bytes = 100'000;
    base::Loop loop;
    std::unique_ptr<Server> server;
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId from, std::uint8_t, std::string_view) {
        server->admit(from);
        server->send(from, "yes");
    };
    server = *Server::listen(loop, "127.0.0.1", 0, hooks, limits);
    server->expect_requests(false);
    with_clients(loop, [&] {
        const auto switch_to = [&](bool expected) {
            std::promise<void> switched;
            loop.post([&] {
                server->expect_requests(expected);
                switched.set_value();
            });
            switched.get_future().wait();
        };
        const std::string value(200'000, 'v');
        Peer stranger(server->port()), member(server->port()), worker(server->port());
        stranger.send(kHello + set("k", value));
        EXPECT_TRUE(stranger.closed());
        member.send(kHello + hex("41 00000000"));
        EXPECT_EQ(member.receive(3), "yes");
        switch_to(true);
        worker.send(kHello + set("k", value) + get("k"));
        EXPECT_EQ(worker.receive(8 + value.size()), le64(value.size()) + value);
        switch_to(false);
        worker.send(get("k"));
        EXPECT_EQ(worker.receive(8), le64(0));
    });
}

}  // namespace
}  // namespace dlaunch::store
