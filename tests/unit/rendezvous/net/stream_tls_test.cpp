#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "rendezvous/net/stream.hpp"

namespace dlaunch::net {
namespace {

using Kind = Stream::Received::Kind;
using auth::Tls;

auth::TlsContextPtr context_of(const char* token) { return *auth::TlsContext::of(auth::Token(token)); }

/// Two streams inside TLS; the server's is plain until it has received something.
struct Line {
    explicit Line(const char* client_token = "a-token-of-this-test") {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        server.emplace(base::UniqueFd(ends[0]));
        client.emplace(base::UniqueFd(ends[1]), std::make_unique<Tls>(context_of(client_token), Tls::Side::client));
    }
    Stream::Received receive(Stream& stream) {
        pollfd wait{stream.fd(), POLLIN, 0};
        EXPECT_EQ(poll(&wait, 1, 30'000), 1);
        return stream.receive(buffer);
    }
    /// Up to the client's view of the server's answer.
    Stream::Received shake_hands() {
        EXPECT_EQ(client->send("too early").bytes, 0U);
        const std::string hello(receive(*server).bytes);
        latest = server->secure(std::make_unique<Tls>(context_of("a-token-of-this-test"), Tls::Side::server), hello);
        return receive(*client);
    }
    void open() {
        EXPECT_EQ(shake_hands().kind, Kind::nothing);
        EXPECT_TRUE(client->is_open());
        EXPECT_FALSE(server->is_open());
        EXPECT_EQ(receive(*server).kind, Kind::nothing);
        EXPECT_TRUE(server->is_open());
    }

    std::optional<Stream> server, client;
    Stream::Received latest;
    std::array<char, 4096> buffer{};
};

TEST(StreamInTls, carries_bytes_both_ways) {
    Line line;
    line.open();
    EXPECT_EQ(line.client->send("ping").bytes, 4U);
    EXPECT_EQ(line.receive(*line.server).bytes, "ping");
    const std::string one = "po", two = "ng";
    const std::array parts{iovec{const_cast<char*>(one.data()), 2}, iovec{const_cast<char*>(two.data()), 2}};
    EXPECT_EQ(line.server->send(parts).bytes, 4U);
    EXPECT_EQ(line.receive(*line.client).bytes, "pong");
}

TEST(StreamInTls, keeps_what_a_full_socket_does_not_take) {
    Line line;
    line.open();
    const std::string text(1 << 20, 'x');
    std::string expected, received;
    for (Stream::Sent sent; !sent.blocked;) {
        sent = line.client->send(text);
        ASSERT_EQ(sent.error, 0);
        expected += text.substr(0, sent.bytes);
    }
    EXPECT_TRUE(line.client->has_unsent());
    while (received.size() < expected.size()) {
        const auto now = line.receive(*line.server);
        ASSERT_TRUE(now.kind == Kind::bytes || now.kind == Kind::nothing);
        received += now.bytes;
        ASSERT_EQ(line.client->flush().error, 0);
    }
    EXPECT_FALSE(line.client->has_unsent());
    EXPECT_TRUE(received == expected);
}

TEST(StreamInTls, an_end_that_the_peer_did_not_seal_is_a_cut) {
    Line ended, cut;
    ended.open();
    ended.client->end();
    EXPECT_EQ(ended.receive(*ended.server).kind, Kind::end);

    cut.open();
    shutdown(cut.client->fd(), SHUT_WR);
    EXPECT_EQ(cut.receive(*cut.server).kind, Kind::failed);
}

TEST(StreamInTls, both_sides_learn_that_the_keys_differ) {
    Line line("quite-another-token");
    EXPECT_EQ(line.shake_hands().kind, Kind::failed);
    EXPECT_EQ(line.client->why(), Tls::Failure::other_key);
    EXPECT_EQ(line.latest.kind, Kind::failed);
    EXPECT_EQ(line.server->why(), Tls::Failure::other_key);
}

TEST(StreamInTls, keeps_the_answer_of_a_peer_that_does_not_speak_it) {
    Line line;
    EXPECT_EQ(line.client->flush().error, 0);
    EXPECT_EQ(line.server->send("HTTP/1.1 400 Bad Request\r\n").error, 0);
    EXPECT_EQ(line.receive(*line.client).kind, Kind::failed);
    EXPECT_EQ(line.client->first_bytes(), "HTTP/1.1 400 Bad Request\r\n");
}

TEST(StreamInTls, refuses_changed_bytes) {
    Line line;
    line.open();
    ASSERT_EQ(send(line.client->fd(),
                   "\x17\x03\x03\x00\x20"
                   "changed bytes of a record here..",
                   37, 0),
              37);
    EXPECT_EQ(line.receive(*line.server).kind, Kind::nothing) << "a guard's good-bye may follow";
    EXPECT_EQ(line.receive(*line.client).kind, Kind::failed) << "by an alert";
    shutdown(line.client->fd(), SHUT_WR);
    EXPECT_EQ(line.receive(*line.server).kind, Kind::failed);
    EXPECT_EQ(line.server->trailing(), "changed bytes of a record here..");
}

TEST(StreamInTls, does_not_wait_for_ever_for_an_end) {
    Line line;
    line.open();
    const std::string flood(200'000, '#');
    std::size_t sent = 0;
    for (Stream::Received latest; latest.kind != Kind::failed && sent < flood.size();) {
        sent += static_cast<std::size_t>(send(line.client->fd(), flood.data(), 4096, 0));
        latest = line.receive(*line.server);
    }
    EXPECT_LT(sent, 80'000U);
}

}  // namespace
}  // namespace dlaunch::net
