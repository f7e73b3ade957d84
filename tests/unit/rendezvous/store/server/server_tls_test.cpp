// Clients inside TLS, and strangers at their port.

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "rendezvous/net/stream.hpp"
#include "rendezvous/store/server/server.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::store {
namespace {

using auth::Tls;
using Kind = net::Stream::Received::Kind;

constexpr const char* kToken = "a-token-of-this-test";
const std::string kFrame{"\x41\x05\x00\x00\x00hello", 10};

auth::TlsContextPtr context_of(const char* token) { return *auth::TlsContext::of(auth::Token(token)); }

/// Returns the payloads of extension messages to their clients, in frames like kFrame.
struct Secured {
    explicit Secured(bool with_token = true, ServerLimits limits = {}) {
        ServerHooks hooks;
        hooks.serves_requests = false;
        if (with_token) hooks.tls = context_of(kToken);
        hooks.extension = [this](ConnectionId from, std::uint8_t, std::string_view payload) {
            server->admit(from);
            server->send(from, "got " + std::string(payload));
        };
        hooks.trailing = [this](ConnectionId, std::string_view bytes) { trailing.emplace_back(bytes); };
        hooks.closed = [this](ConnectionId, bool by_fin) { ends.push_back(by_fin); };
        hooks.stranger = [this](const std::string& address, Stranger kind) {
            EXPECT_EQ(address, "127.0.0.1");
            strangers.push_back(kind);
            return std::string("not for you");
        };
        server = *Server::listen(loop, "127.0.0.1", 0, std::move(hooks), limits);
    }

    base::Loop loop;
    std::unique_ptr<Server> server;
    std::vector<bool> ends;
    std::vector<std::string> trailing;
    std::vector<Stranger> strangers;
};

/// A client that waits for what it needs.
class Client {
public:
    explicit Client(int port, const char* token = kToken)
        : stream_(connected(port), std::make_unique<Tls>(context_of(token), Tls::Side::client)) {
        EXPECT_EQ(stream_.flush().error, 0);
    }
    /// False: the handshake has failed.
    bool open() {
        while (!stream_.is_open())
            if (wait().kind == Kind::failed) return false;
        return true;
    }
    void send(const std::string& bytes) { EXPECT_EQ(stream_.send(bytes).bytes, bytes.size()); }
    std::string receive(std::size_t size) {
        std::string all;
        while (all.size() < size) {
            const auto received = wait();
            if (received.kind == Kind::end || received.kind == Kind::failed) break;
            all += received.bytes;
        }
        return all;
    }
    net::Stream::Received wait() {
        pollfd one{stream_.fd(), POLLIN, 0};
        EXPECT_EQ(poll(&one, 1, 30'000), 1);
        return stream_.receive(buffer_);
    }
    net::Stream& stream() { return stream_; }

private:
    static base::UniqueFd connected(int port) {
        base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return socket;
    }

    net::Stream stream_;
    std::array<char, 4096> buffer_{};
};

TEST(ServerInTls, serves_messages_of_clients_with_the_token) {
    Secured job;
    with_clients(job.loop, [port = job.server->port()] {
        Client one(port), two(port);
        ASSERT_TRUE(one.open() && two.open());
        for (Client* each : {&one, &two}) each->send(std::string(wire::kGreeting) + kFrame);
        EXPECT_EQ(two.receive(9), "got hello");
        EXPECT_EQ(one.receive(9), "got hello");
        one.stream().end();
        EXPECT_NE(one.wait().kind, Kind::bytes);
        shutdown(two.stream().fd(), SHUT_WR);
        EXPECT_NE(two.wait().kind, Kind::bytes);
    });
    EXPECT_EQ(job.ends, (std::vector{true, false})) << "a FIN alone proves nothing";
    EXPECT_TRUE(job.strangers.empty());
}

TEST(ServerInTls, hands_out_the_last_bytes_of_a_peer_that_died_between_messages_or_within_one) {
    const std::string secret = "32 bytes of a secret good-bye...", half_record("\x17\x03\x03\x00\x40half", 9);
    Secured job;
    with_clients(job.loop, [&, port = job.server->port()] {
        Client between(port), within(port), flood(port);
        for (Client* each : {&between, &within, &flood}) {
            ASSERT_TRUE(each->open());
            each->send(std::string(wire::kGreeting) + kFrame);
            EXPECT_EQ(each->receive(9), "got hello");
        }
        const auto end_with = [](Client& client, const std::string& bytes) {
            EXPECT_EQ(::send(client.stream().fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                      static_cast<ssize_t>(bytes.size()));
            shutdown(client.stream().fd(), SHUT_WR);
            std::array<char, 4096> rest;
            while (recv(client.stream().fd(), rest.data(), rest.size(), 0) > 0) {}  // until the server has closed
        };
        end_with(between, secret);
        end_with(within, half_record + secret);
        end_with(flood, std::string(100'000, '#'));
    });
    EXPECT_EQ(job.trailing, (std::vector<std::string>{secret, secret, std::string(32, '#')}));
    EXPECT_EQ(job.ends, (std::vector{false, false, false}));
}

TEST(ServerInTls, refuses_another_token_and_serves_the_next_client) {
    Secured job;
    with_clients(job.loop, [port = job.server->port()] {
        Client stranger(port, "quite-another-token");
        EXPECT_FALSE(stranger.open());
        EXPECT_EQ(stranger.stream().why(), Tls::Failure::other_key);
        Client late(port);
        EXPECT_TRUE(late.open());
    });
    EXPECT_EQ(job.strangers, std::vector{Stranger::of_another_token});
}

TEST(ServerInTls, answers_plain_messages_in_plain) {
    Secured job;
    with_clients(job.loop, [port = job.server->port()] {
        Peer peer(port);
        peer.send(std::string(wire::kGreeting) + kFrame);
        EXPECT_EQ(peer.receive(11), "not for you");
        EXPECT_TRUE(peer.closed_in_order());
    });
    EXPECT_EQ(job.strangers, std::vector{Stranger::without_token});
    EXPECT_TRUE(job.ends.empty());
}

TEST(ServerInTls, a_server_without_token_answers_a_handshake_in_plain) {
    Secured job(false);
    with_clients(job.loop, [port = job.server->port()] {
        Client client(port);
        EXPECT_FALSE(client.open());
        EXPECT_EQ(client.stream().first_bytes(), "not for you");
    });
    EXPECT_EQ(job.strangers, std::vector{Stranger::with_token});
}

TEST(ServerInTls, takes_a_first_message_in_pieces_and_no_giant_one) {
    Secured job;
    with_clients(job.loop, [port = job.server->port()] {
        Peer giant(port), old(port), pieces(port);
        giant.send(std::string("\x16\x03\x01\xff\xff", 5));
        EXPECT_TRUE(giant.closed());
        old.send(std::string("\x16\x02\x00", 3));
        EXPECT_TRUE(old.closed());
        Tls tls(context_of(kToken), Tls::Side::client);
        for (const char byte : tls.sealed()) pieces.send(std::string(1, byte));
        EXPECT_EQ(pieces.receive(3), std::string("\x16\x03\x03", 3));
    });
}

TEST(ServerInTls, more_handshakes_wait_until_others_have_ended) {
    ServerLimits limits;
    limits.handshakes = 2;
    Secured job(true, limits);
    with_clients(job.loop, [port = job.server->port()] {
        const std::string hello = [] {
            Tls tls(context_of(kToken), Tls::Side::client);
            return tls.sealed();
        }();
        std::vector<Peer> replayed;  // they never finish
        for (int count = 0; count < 2; ++count) {
            replayed.emplace_back(Peer(port)).send(hello);
            EXPECT_EQ(replayed.back().receive(3), std::string("\x16\x03\x03", 3));
        }
        Client waiting(port);
        pollfd one{waiting.stream().fd(), POLLIN, 0};
        EXPECT_EQ(poll(&one, 1, 100), 0);
        replayed.front().leave();
        EXPECT_TRUE(waiting.open());
    });
}

TEST(ServerInTls, a_handshake_has_a_deadline) {
    ServerLimits limits;
    limits.handshakes = 1;
    limits.handshake_time = std::chrono::milliseconds(100);
    Secured job(true, limits);
    with_clients(job.loop, [port = job.server->port()] {
        Peer replayed(port);
        replayed.send([] {
            Tls tls(context_of(kToken), Tls::Side::client);
            return tls.sealed();
        }());
        EXPECT_EQ(replayed.receive(3), std::string("\x16\x03\x03", 3));
        Client waiting(port);
        EXPECT_TRUE(waiting.open());
    });
}

}  // namespace
}  // namespace dlaunch::store
