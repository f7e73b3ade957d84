#include "rendezvous/net/stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <string>

#include "rendezvous/base/listener.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"

namespace dlaunch::net {
namespace {

using Kind = Stream::Received::Kind;

/// A stream over loopback and its peer.
struct Line {
    store::Listener listener = *store::open_listener("127.0.0.1", 0);
    Stream stream = connected();
    Peer peer = accepted();

    /// Waits until something can be read.
    Stream::Received receive(std::size_t most = 4096) {
        pollfd wait{stream.fd(), POLLIN, 0};
        EXPECT_EQ(poll(&wait, 1, 30'000), 1);
        return stream.receive(std::span(buffer).first(most));
    }

    std::array<char, 4096> buffer{};

private:
    [[nodiscard]] Stream connected() const {
        base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(listener.port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        fcntl(socket.get(), F_SETFL, O_NONBLOCK);
        return Stream(std::move(socket));
    }
    [[nodiscard]] Peer accepted() const {
        pollfd wait{listener.socket.get(), POLLIN, 0};
        EXPECT_EQ(poll(&wait, 1, 30'000), 1);
        return Peer(base::UniqueFd(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    }
};

iovec part(const std::string& text) { return {const_cast<char*>(text.data()), text.size()}; }

TEST(Stream, receives_no_more_than_the_buffer_takes) {
    Line line;
    line.peer.send("abcdef");
    EXPECT_EQ(line.receive(4).bytes, "abcd");
    EXPECT_EQ(line.receive(4).bytes, "ef");
    EXPECT_EQ(line.stream.receive(line.buffer).kind, Kind::nothing);
}

TEST(Stream, sends_parts_in_order) {
    Line line;
    const std::string first = "one ", second = "two ", third = "three";
    const std::array parts{part(first), part(second), part(third)};
    EXPECT_EQ(line.stream.send(parts).bytes, 13U);
    EXPECT_EQ(line.stream.send(std::span(parts).first(1)).bytes, 4U);
    EXPECT_EQ(line.stream.send(second).bytes, 4U);
    EXPECT_EQ(line.peer.receive(21), "one two threeone two ");
}

TEST(Stream, is_blocked_when_the_peer_does_not_read) {
    Line line;
    const std::string large(1 << 20, 'x');
    std::size_t sent = 0;
    Stream::Sent latest;
    while (!latest.blocked) {
        latest = line.stream.send(large);
        ASSERT_EQ(latest.error, 0);
        sent += latest.bytes;
    }
    EXPECT_EQ(line.peer.receive(sent), std::string(sent, 'x'));
    EXPECT_EQ(line.stream.send("more").bytes, 4U);
}

TEST(Stream, tells_an_end_in_order_from_a_reset) {
    Line ended, broken;
    ended.peer.send("last");
    ended.peer.leave();
    EXPECT_EQ(ended.receive().bytes, "last");
    EXPECT_EQ(ended.receive().kind, Kind::end);

    broken.stream.reset();
    { const Stream gone = std::move(broken.stream); }
    EXPECT_FALSE(broken.peer.closed_in_order());
}

TEST(Stream, reports_a_reset_of_the_peer) {
    Line line;
    line.peer.break_off();
    const auto received = line.receive();
    EXPECT_EQ(received.kind, Kind::failed);
    EXPECT_EQ(received.error, ECONNRESET);
    EXPECT_EQ(line.stream.send("late").error, EPIPE);
}

TEST(Stream, ends_in_order_although_input_is_unread) {
    Line line;
    line.peer.send("never read");
    pollfd wait{line.stream.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, 30'000), 1);
    EXPECT_EQ(line.stream.send("goodbye").bytes, 7U);
    line.stream.end();
    { const Stream gone = std::move(line.stream); }
    EXPECT_EQ(line.peer.receive(7), "goodbye");
    EXPECT_TRUE(line.peer.closed_in_order());
}

}  // namespace
}  // namespace dlaunch::net
