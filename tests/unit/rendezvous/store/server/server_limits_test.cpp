// The server's limits on clients, with raw sockets over loopback.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "rendezvous/store/server/server.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::store {
namespace {

using std::chrono::milliseconds;
using wire::hex;
using wire::le64;
using wire::StoreOperation;

const std::string kHello(wire::kGreeting);
const std::string kPing = hex("0D 01000000");

std::string encoded(const wire::Request& request) {
    std::string bytes;
    wire::encode(request, bytes);
    return bytes;
}

std::string set(std::string_view key, std::string_view value) {
    return encoded(wire::about(StoreOperation::set, key, value));
}

std::string get(std::string_view key) { return encoded(wire::about(StoreOperation::get, key)); }

std::string multi_get(std::string_view key, std::size_t times) {
    const std::vector<std::string_view> keys(times, key);
    wire::Request request = wire::about(StoreOperation::multi_get);
    request.words = keys;
    return encoded(request);
}

TEST(ServerLimits, new_connections_wait_while_too_many_are_half_open) {
    base::Loop loop;
    ServerLimits limits;
    limits.half_open = 2;
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer client(server->port());
        client.send(kHello + kPing);
        EXPECT_EQ(client.receive(4), hex("01000000"));
        Peer first(server->port()), second(server->port()), third(server->port());
        third.send(kHello + kPing);
        first.send(kHello + kPing);  // leaves the half-open ones, and was not closed
        EXPECT_EQ(first.receive(4), hex("01000000"));
        EXPECT_EQ(third.receive(4), hex("01000000"));
        second.send(kHello + kPing);
        EXPECT_EQ(second.receive(4), hex("01000000"));
    });
}

TEST(ServerLimits, silent_clients_have_less_time_while_new_connections_wait) {
    base::Loop loop;
    ServerLimits limits;
    limits.half_open = 1;
    limits.half_open_time = std::chrono::hours(1);
    limits.hurried_half_open_time = milliseconds(10);
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer silent(server->port()), client(server->port());
        EXPECT_TRUE(silent.closed());
        client.send(kHello + kPing);
        EXPECT_EQ(client.receive(4), hex("01000000"));
    });
}

TEST(ServerLimits, new_connections_are_accepted_again_after_a_clear) {
    base::Loop loop;
    ServerLimits limits;
    limits.half_open = 1;
    limits.half_open_time = limits.hurried_half_open_time = std::chrono::hours(1);
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer client(server->port());
        client.send(kHello + kPing);
        EXPECT_EQ(client.receive(4), hex("01000000"));
        Peer silent(server->port());
        for (int i = 0; i < 2; ++i) {  // accepted by then, and none after it
            client.send(kPing);
            EXPECT_EQ(client.receive(4), hex("01000000"));
        }
        loop.post([&] { server->clear(); });
        EXPECT_TRUE(silent.closed());
        Peer next(server->port());
        next.send(kHello + kPing);
        EXPECT_EQ(next.receive(4), hex("01000000"));
    });
}

TEST(ServerLimits, a_message_that_never_ends_ends_its_connection) {
    base::Loop loop;
    ServerLimits limits;
    limits.message_time = milliseconds(30);
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer half(server->port()), silent(server->port());
        silent.send(kHello + kPing);
        EXPECT_EQ(silent.receive(4), hex("01000000"));
        half.send(kHello + kPing + hex("01 0200000000000000 2F61 FF"));
        EXPECT_EQ(half.receive(4), hex("01000000"));
        EXPECT_TRUE(half.closed());
        silent.send(kPing);  // a silent client has no incomplete message
        EXPECT_EQ(silent.receive(4), hex("01000000"));
    });
}

TEST(ServerLimits, progress_within_a_message_gives_it_no_more_time) {
    base::Loop loop;
    ServerLimits limits;
    limits.message_time = milliseconds(50);
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        Peer slow(server->port());
        slow.send(kHello + hex("01 0200000000000000 2F61") + le64(1 << 20));
        timeval pause{0, 5'000};
        const auto start = base::Clock::now();
        bool closed = false;
        for (int i = 0; i < 2000 && !closed; ++i) {
            closed = !slow.try_send("x");
            select(0, nullptr, nullptr, nullptr, &pause);
            pause = {0, 5'000};
        }
        EXPECT_TRUE(closed);
        EXPECT_LT(base::Clock::now() - start, std::chrono::seconds(5));
    });
}

TEST(ServerLimits, a_long_reply_is_made_as_it_is_read) {
    base::Loop loop;
    ServerLimits limits;
    limits.unread_bytes = 1000;
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        const std::string value(4000, 'v'), other(4000, 'w');
        constexpr std::size_t kTimes = 65'536;
        Peer reader(server->port()), writer(server->port());
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        reader.send(kHello + set("k", value) + multi_get("k", kTimes) + kPing);
        EXPECT_EQ(reader.receive(8 + value.size()), le64(value.size()) + value);
        writer.send(kHello + set("k", other) + kPing);
        EXPECT_EQ(writer.receive(4), hex("01000000"));
        std::string last;
        for (std::size_t count = 1; count < kTimes; ++count) reader.receive(8 + value.size(), last);
        EXPECT_EQ(last, le64(other.size()) + other);    // each key is read when its part of the reply is sent
        EXPECT_EQ(reader.receive(4), hex("01000000"));  // and the later request has waited
        getrusage(RUSAGE_SELF, &after);
        EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);
    });
}

TEST(ServerLimits, long_messages_are_taken_one_after_the_other_where_all_hold_too_much) {
    base::Loop loop;
    ServerLimits limits;
    limits.held_bytes = 100'000;
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        const std::string message = set("k", std::string(1 << 20, 'v'));
        std::vector<Peer> clients;
        for (int i = 0; i < 8; ++i) clients.emplace_back(server->port());
        for (Peer& client : clients) client.send(kHello + message.substr(0, 60'000));
        Peer small(server->port());
        small.send(kHello + kPing);
        EXPECT_EQ(small.receive(4), hex("01000000"));
        std::vector<std::thread> senders;
        for (Peer& client : clients)
            senders.emplace_back([&client, &message] {
                client.send(message.substr(60'000) + kPing);
                EXPECT_EQ(client.receive(4), hex("01000000"));
            });
        for (std::thread& sender : senders) sender.join();
    });
}

TEST(ServerLimits, old_values_that_only_replies_hold_cost_the_clients_that_read_last) {
    base::Loop loop;
    ServerLimits limits;
    limits.retired_bytes = 20 << 20;
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        const std::string value(8 << 20, 'v');
        Peer writer(server->port());
        writer.send(kHello);
        std::vector<Peer> readers;
        for (int i = 0; i < 4; ++i) {
            writer.send(set("k", value) + kPing);
            EXPECT_EQ(writer.receive(4), hex("01000000"));
            readers.emplace_back(server->port());
            readers.back().send(kHello + get("k"));
            EXPECT_EQ(readers.back().receive(8), le64(value.size()));
        }
        EXPECT_LT(readers.front().receive(value.size()).size(), value.size());
        EXPECT_EQ(readers.back().receive(value.size()).size(), value.size());
    });
}

TEST(ServerLimits, a_wait_for_too_much_ends_its_connection_and_no_other) {
    base::Loop loop;
    ServerLimits limits;
    limits.pending_bytes = 1000;
    const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
    with_clients(loop, [&] {
        const auto wait_for = [](std::vector<std::string_view> keys) {
            wire::Request request = wire::about(StoreOperation::wait);
            request.words = keys;
            return encoded(request);
        };
        Peer modest(server->port()), greedy(server->port()), writer(server->port());
        modest.send(kHello + wait_for({"a"}) + kPing);
        EXPECT_EQ(modest.receive(4), hex("01000000"));
        greedy.send(kHello + wait_for({"b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}));
        EXPECT_TRUE(greedy.closed());
        writer.send(kHello + set("a", "1"));
        EXPECT_EQ(modest.receive(1), hex("00"));
    });
}

/// A server that answers extension messages with "yes"; 0x41 admits the client.
struct HookedServer {
    explicit HookedServer(ServerLimits limits, bool serves_requests = false) {
        ServerHooks hooks;
        hooks.serves_requests = serves_requests;
        hooks.extension = [this](ConnectionId from, std::uint8_t number, std::string_view) {
            if (number == 0x41) server->admit(from);
            server->send(from, "yes");
        };
        server = *Server::listen(loop, "127.0.0.1", 0, std::move(hooks), limits);
    }
    base::Loop loop;
    std::unique_ptr<Server> server;
};

TEST(ServerLimits, connections_that_greet_but_do_not_join_are_closed) {
    for (const bool serves_requests : {false, true}) {
        ServerLimits limits;
        limits.half_open_time = milliseconds(50);
        HookedServer hooked(limits, serves_requests);
        with_clients(hooked.loop, [&] {
            Peer member(hooked.server->port()), greeted(hooked.server->port()), client(hooked.server->port());
            client.send(kHello + kPing);
            if (serves_requests)
                EXPECT_EQ(client.receive(4), hex("01000000"));
            else
                EXPECT_TRUE(client.closed());
            member.send(kHello + hex("40 00000000 41 00000000"));
            EXPECT_EQ(member.receive(6), "yesyes");
            greeted.send(kHello + hex("40 00000000"));
            EXPECT_EQ(greeted.receive(3), "yes");
            EXPECT_TRUE(greeted.closed());
            member.send(hex("40 00000000"));
            EXPECT_EQ(member.receive(3), "yes");
        });
    }
}

TEST(ServerLimits, a_greeting_is_short) {
    ServerLimits limits;
    limits.first_payload_bytes = 100;
    HookedServer hooked(limits);
    with_clients(hooked.loop, [&] {
        const std::string payload(101, 'x'), frame = hex("40 65000000") + payload;
        Peer member(hooked.server->port()), oversized(hooked.server->port());
        oversized.send(kHello + hex("40 65000000"));
        EXPECT_TRUE(oversized.closed());
        member.send(kHello + hex("41 00000000") + frame);
        EXPECT_EQ(member.receive(6), "yesyes");
    });
}

/// Sets this process's limit of descriptors.
class FewDescriptors {
public:
    explicit FewDescriptors(rlim_t count) {
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
        rlimit few = before_;
        few.rlim_cur = count;
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    ~FewDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

private:
    rlimit before_{};
};

TEST(ServerLimits, a_member_gets_a_descriptor_where_clients_without_a_request_hold_them) {
    const FewDescriptors few(128);
    for (const bool is_expected : {true, false}) {
        ServerLimits limits;
        limits.spare_descriptors = 64;
        limits.hurried_half_open_time = milliseconds(50);
        HookedServer hooked(limits, true);
        hooked.server->expect_requests(is_expected);
        with_clients(hooked.loop, [&] {
            Peer worker(hooked.server->port());
            worker.send(kHello + set("k", "v") + kPing);
            EXPECT_EQ(worker.receive(4), hex("01000000"));
            std::vector<Peer> strangers;  // each takes two descriptors of this process
            for (int i = 0; i < 40; ++i) {
                strangers.emplace_back(hooked.server->port());
                strangers.back().send(kHello + kPing + (is_expected ? "" : set("k", "v")));
            }
            Peer member(hooked.server->port());
            member.send(kHello + hex("41 00000000"));
            EXPECT_EQ(member.receive(3), "yes");
            if (!is_expected) return;
            worker.send(kPing);  // has sent a request, and stays
            EXPECT_EQ(worker.receive(4), hex("01000000"));
        });
    }
}

TEST(ServerLimits, connections_leave_descriptors_free) {
    const FewDescriptors few(128);
    {
        base::Loop loop;
        ServerLimits limits;
        limits.spare_descriptors = 64;
        const auto server = *Server::listen(loop, "127.0.0.1", 0, {}, limits);
        with_clients(loop, [&] {
            // Each client takes two descriptors of this process.
            std::vector<Peer> clients;
            for (int i = 0; i < 40; ++i) {
                clients.emplace_back(server->port());
                clients.back().send(kHello + kPing);
            }
            std::size_t answered = 0;
            for (Peer& client : clients) answered += client.receive_now(4).empty() ? 0U : 1U;
            EXPECT_GT(answered, 10U);
            EXPECT_LT(answered, 40U);
            // Clients that close make room for waiting ones.
            while (clients.size() > 1) clients.erase(clients.begin());
            EXPECT_EQ(clients.front().receive(4), hex("01000000"));
        });
    }
}

}  // namespace
}  // namespace dlaunch::store
