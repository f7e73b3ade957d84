// The server around the core, with raw sockets over loopback: hooks, pushes, closed connections and limits.

#include "rendezvous/store/server/server.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <future>
#include <thread>

#include "rendezvous/base/listener.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::store {
namespace {

using std::chrono::milliseconds;
using wire::hex;
using wire::le64;

const std::string kHello(wire::kGreeting);

TEST(Server, reports_its_endpoint) {
    base::Loop loop;
    const auto server = *Server::listen(loop, "127.0.0.1", 0);
    EXPECT_GT(server->port(), 0);
    EXPECT_EQ(server->endpoint(), "127.0.0.1:" + std::to_string(server->port()));
    const auto second = Server::listen(loop, "127.0.0.1", server->port());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().text, server->endpoint() + ": Address already in use");
    EXPECT_FALSE(Server::listen(loop, "203.0.113.7", 0));
}

TEST(Server, takes_a_socket_that_is_only_bound) {
    base::Loop loop;
    base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const auto server = *Server::adopt(loop, std::move(socket));
    with_clients(loop, [&] {
        Peer peer(server->port());
        peer.send(kHello + hex("0D 01020304"));
        EXPECT_EQ(peer.receive(4), hex("01020304"));
    });
}

TEST(Server, accepts_at_several_addresses) {
    base::Loop loop;
    const auto server = *Server::listen(loop, "127.0.0.1", 0);
    auto other = open_listener("127.0.0.2", server->port());
    ASSERT_TRUE(other && server->listen_too(std::move(other->socket)));
    with_clients(loop, [&] {
        for (const in_addr_t at : {INADDR_LOOPBACK + 1, INADDR_LOOPBACK, INADDR_LOOPBACK + 1}) {
            Peer peer(server->port(), at);
            peer.send(kHello + hex("0D 01020304"));
            EXPECT_EQ(peer.receive(4), hex("01020304"));
        }
    });
}

TEST(Server, passes_coordinator_messages_to_the_hook_which_may_answer_push_and_close) {
    base::Loop loop;
    std::vector<std::string> received;
    std::vector<ConnectionId> gone, peers;
    std::unique_ptr<Server> server;
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId peer, std::uint8_t number, std::string_view payload) {
        received.push_back(fmt::format("{:x} {}", number, payload));
        peers.push_back(peer);
        EXPECT_EQ(server->address_of(peer), "127.0.0.1");
        if (payload == "push") server->send(peers[0], "pushed");
        if (payload == "close") {
            server->send(peer, "bye");
            server->close(peer);
        }
    };
    hooks.closed = [&](ConnectionId peer, bool) { gone.push_back(peer); };
    server = *Server::listen(loop, "127.0.0.1", 0, hooks);
    with_clients(loop, [&] {
        Peer first(server->port()), second(server->port()), ungreeted(server->port());
        first.send(kHello + hex("40 05000000") + "hello" + hex("0D 01000000"));
        EXPECT_EQ(first.receive(4), hex("01000000"));
        second.send(kHello + hex("FF 04000000") + "push");
        EXPECT_EQ(first.receive(6), "pushed");
        second.send(hex("41 05000000") + "close" + hex("0D 01000000"));
        EXPECT_EQ(second.receive(3), "bye");
        EXPECT_TRUE(second.closed());
        first.send(hex("13"));
        EXPECT_TRUE(first.closed());
        ungreeted.send(hex("40 00000000"));
        EXPECT_TRUE(ungreeted.closed());
    });
    EXPECT_EQ(received, (std::vector<std::string>{"40 hello", "ff push", "41 close"}));
    ASSERT_EQ(peers.size(), 3U);
    EXPECT_EQ(gone, (std::vector<ConnectionId>{peers[1], peers[0]}));
    EXPECT_EQ(server->address_of(peers[0]), "");
    server->send(peers[0], "to nobody");
}

TEST(Server, may_push_from_outside_of_a_hook) {
    base::Loop loop;
    std::unique_ptr<Server> server;
    base::Timer later;
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId peer, std::uint8_t, std::string_view) {
        later = loop.after(milliseconds(1), [&, peer] {
            server->send(peer, "late");
            server->close(peer);
        });
    };
    server = *Server::listen(loop, "127.0.0.1", 0, hooks);
    with_clients(loop, [&] {
        Peer peer(server->port());
        peer.send(kHello + hex("40 00000000"));
        EXPECT_EQ(peer.receive(4), "late");
        EXPECT_TRUE(peer.closed());
    });
}

TEST(Server, counts_its_clients) {
    base::Loop loop;
    std::unique_ptr<Server> server;
    std::promise<std::size_t> left;
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId peer, std::uint8_t, std::string_view) {
        server->send(peer, std::to_string(server->clients()));
    };
    hooks.closed = [&, first_left = true](ConnectionId, bool) mutable {
        if (std::exchange(first_left, false)) left.set_value(server->clients());
    };
    server = *Server::listen(loop, "127.0.0.1", 0, hooks);
    EXPECT_EQ(server->clients(), 0U);
    with_clients(loop, [&] {
        Peer first(server->port());
        first.send(kHello + hex("40 00000000"));
        EXPECT_EQ(first.receive(1), "1");
        Peer second(server->port());
        second.send(kHello + hex("40 00000000"));
        EXPECT_EQ(second.receive(1), "2");
        second.leave();
        EXPECT_EQ(left.get_future().get(), 1U);
    });
}

/// Writes after the peer's close fail. They may come before the server has read the peer's last message.
TEST(Server, reads_the_last_message_of_a_peer_that_has_closed) {
    base::Loop loop;
    std::unique_ptr<Server> server;
    base::Timer later;
    std::promise<void> has_left, end;
    std::vector<std::string> events;
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId peer, std::uint8_t, std::string_view payload) {
        events.emplace_back(payload);
        if (payload != "first") return;
        server->send(peer, "reply");
        later = loop.after(milliseconds(0), [&, peer] {
            has_left.get_future().wait();
            for (const char* each : {"sent", "refused", "refused"}) server->send(peer, each);
        });
    };
    hooks.closed = [&](ConnectionId, bool) {
        events.emplace_back("closed");
        end.set_value();
    };
    server = *Server::listen(loop, "127.0.0.1", 0, hooks);
    with_clients(loop, [&] {
        Peer peer(server->port());
        peer.send(kHello + hex("40 05000000") + "first");
        EXPECT_EQ(peer.receive(5), "reply");
        peer.send(hex("40 04000000") + "last");
        peer.leave();
        has_left.set_value();
        end.get_future().wait();
    });
    EXPECT_EQ(events, (std::vector<std::string>{"first", "last", "closed"}));
}

TEST(Server, lets_timers_run_while_messages_take_long) {
    constexpr int kClients = 4, kMessages = 20, kAtOnce = 6 * kClients;
    base::Loop loop;
    base::Timer timer;
    int since_timer = 0, most = 0, all = 0;
    const std::function<void()> tick = [&] {
        since_timer = 0;
        timer = loop.after(milliseconds(1), tick);
    };
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId, std::uint8_t, std::string_view) {
        ++all;
        most = std::max(most, ++since_timer);
        std::this_thread::sleep_for(milliseconds(5));  // the length of a slow message
    };
    const auto server = *Server::listen(loop, "127.0.0.1", 0, hooks);
    tick();
    with_clients(loop, [&] {
        const std::string message = hex("40 00C00000") + std::string(0xC000, 'x');  // one read takes one of them
        std::vector<std::thread> clients;
        for (int client = 0; client < kClients; ++client)
            clients.emplace_back([&] {
                Peer peer(server->port());
                peer.send(kHello);
                for (int count = 0; count < kMessages; ++count) peer.send(message);
                peer.send(hex("0D 01020304"));
                EXPECT_EQ(peer.receive(4), hex("01020304"));
            });
        for (std::thread& client : clients) client.join();
    });
    EXPECT_EQ(all, kClients * kMessages);
    EXPECT_LE(most, kAtOnce);
}

TEST(Server, closes_on_a_coordinator_message_without_a_hook) {
    base::Loop loop;
    const auto server = *Server::listen(loop, "127.0.0.1", 0);
    with_clients(loop, [&] {
        Peer peer(server->port());
        peer.send(kHello + hex("40 00000000"));
        EXPECT_TRUE(peer.closed());
    });
}

TEST(Server, silent_connections_are_closed_after_the_half_open_time) {
    base::Loop loop;
    ServerLimits limits;
    limits.half_open_time = milliseconds(20);
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer silent(server->port()), half(server->port()), client(server->port());
        half.send(hex("00 CEF7"));
        client.send(kHello);
        EXPECT_TRUE(silent.closed());
        EXPECT_TRUE(half.closed());
        client.send(hex("0D 01000000"));
        EXPECT_EQ(client.receive(4), hex("01000000"));
    });
}

TEST(Server, the_next_request_of_a_1_13_client_cancels_its_wait) {
    base::Loop loop;
    const auto server = *Server::listen(loop, "127.0.0.1", 0);
    with_clients(loop, [&] {
        Peer old(server->port()), other(server->port());
        old.send(hex("05 0100000000000000 0200000000000000 2F61 06"));  // WAIT /a, GETNUMKEYS
        EXPECT_EQ(old.receive(8), le64(0));
        other.send(kHello + hex("01 0200000000000000 2F61 0000000000000000 0D 01000000"));
        EXPECT_EQ(other.receive(4), hex("01000000"));
        old.send(hex("06"));
        EXPECT_EQ(old.receive(8), le64(1));  // and no answer to the WAIT before it
    });
}

TEST(Server, a_client_that_does_not_read_gets_everything_in_the_end) {
    base::Loop loop;
    ServerLimits limits;
    limits.unread_bytes = 1000;
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer slow(server->port()), other(server->port());
        const std::string value(3 << 20, 'v');
        std::string bytes = kHello;
        wire::encode(wire::about(wire::StoreOperation::set, "/k", value), bytes);
        for (int i = 0; i < 20; ++i) wire::encode(wire::about(wire::StoreOperation::get, "/k"), bytes);
        wire::encode(wire::with_integer(wire::StoreOperation::add, "/n", 7), bytes);
        slow.send(bytes);
        other.send(kHello + hex("0D 01000000"));
        EXPECT_EQ(other.receive(4), hex("01000000"));
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(slow.receive(8 + value.size()) == le64(value.size()) + value);
        EXPECT_EQ(slow.receive(8), le64(7));
    });
}

TEST(Server, clears_the_keys_and_closes_the_clients_that_may_know_them) {
    base::Loop loop;
    std::unique_ptr<Server> server;
    ServerHooks hooks;
    hooks.extension = [&](ConnectionId peer, std::uint8_t, std::string_view payload) {
        if (payload == "clear") server->clear();
        server->send(peer, "done");
    };
    server = *Server::listen(loop, "127.0.0.1", 0, hooks);
    const std::string num_keys = hex("07");
    with_clients(loop, [&] {
        Peer ours(server->port()), plain(server->port()), waiting(server->port()), silent(server->port());
        plain.send(kHello + hex("01 0200000000000000 2F61 0000000000000000 0E 0200000000000000 2F71 0000000000000000"));
        plain.send(num_keys);
        EXPECT_EQ(plain.receive(8), le64(1));
        waiting.send(kHello + hex("06 0100000000000000 0200000000000000 2F62 0D 01000000"));
        EXPECT_EQ(waiting.receive(4), hex("01000000"));
        ours.send(kHello + hex("40 00000000"));
        EXPECT_EQ(ours.receive(4), "done");
        ours.send(hex("40 05000000") + "clear" + num_keys);
        EXPECT_EQ(ours.receive(4), "done");
        EXPECT_EQ(ours.receive(8), le64(0));
        EXPECT_TRUE(plain.closed());
        EXPECT_TRUE(waiting.closed());
        EXPECT_TRUE(silent.closed());
        Peer next(server->port());
        next.send(kHello + hex("01 0200000000000000 2F62 0000000000000000") + num_keys);
        EXPECT_EQ(next.receive(8), le64(1));
    });
}

TEST(Server, does_not_serve_connections_that_closed_before_it_began) {
    base::Loop loop;
    auto listener = open_listener("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    Peer dead(listener->port), early(listener->port);
    const std::string set_a = hex("01 0200000000000000 2F61 0000000000000000");
    dead.send(kHello + set_a);
    dead.leave();
    early.send(kHello + hex("07"));
    const auto server = *Server::adopt(loop, std::move(listener->socket));
    with_clients(loop, [&] { EXPECT_EQ(early.receive(8), le64(0)); });
}

TEST(Server, stop_closes_everything_at_once) {
    base::Loop loop;
    const auto server = *Server::listen(loop, "127.0.0.1", 0);
    const int port = server->port();
    Peer peer(port);
    with_clients(loop, [&] {
        peer.send(kHello + hex("06 0100000000000000 0200000000000000 2F61 0D 01000000"));
        EXPECT_EQ(peer.receive(4), hex("01000000"));
    });
    server->stop();
    EXPECT_TRUE(peer.closed());
    EXPECT_TRUE(Server::listen(loop, "127.0.0.1", port));
    server->send(1, "to nobody");
}

}  // namespace
}  // namespace dlaunch::store
