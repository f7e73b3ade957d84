// Trunks: the conversations of many clients on one connection.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "rendezvous/store/server/server.hpp"
#include "rendezvous/wire/frames.hpp"
#include "rendezvous/wire/trunk.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"
#include "tests/unit/rendezvous/store/core/core_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::le64;

constexpr const char* kKey = "this round";
const std::string kSet7 = std::string("\x01\x03\0\0\0\0\0\0\0key", 12) + vec("seven");
const std::string kGetKey = std::string("\x03\x03\0\0\0\0\0\0\0key", 12);
const std::string kWaitKey = std::string("\x06", 1) + le64(1) + vec("key");

/// A store for trunks only.
struct Trunks {
    explicit Trunks(ServerLimits limits = {}) {
        ServerHooks hooks;
        hooks.serves_requests = false;
        hooks.takes_trunks = true;
        server = *Server::listen(loop, "127.0.0.1", 0, std::move(hooks), limits);
        server->take_trunks(kKey);
    }
    base::Loop loop;
    std::unique_ptr<Server> server;
};

/// A node's relay.
class Relay {
public:
    explicit Relay(int port, const std::string& key = kKey) : peer_(port) {
        std::string bytes(wire::kGreeting);
        wire::put_hello(bytes, key);
        peer_.send(bytes);
    }
    void send(wire::Channel channel, const std::string& requests) {
        std::string bytes;
        wire::put_data(bytes, channel, requests);
        peer_.send(bytes);
    }
    void close(wire::Channel channel) {
        std::string bytes;
        wire::put_close(bytes, channel);
        peer_.send(bytes);
    }
    void credit(wire::Channel channel, std::size_t bytes) {
        std::string frame;
        wire::put_credit(frame, channel, static_cast<std::uint32_t>(bytes));
        peer_.send(frame);
    }
    /// The next `size` bytes of replies in a channel; less if the store closes the channel or the trunk.
    std::string receive(wire::Channel channel, std::size_t size) {
        while (replies_[channel].size() < size && !closed_[channel] && take()) {}
        std::string part = replies_[channel].substr(0, size);
        replies_[channel].erase(0, size);
        return part;
    }
    bool closed(wire::Channel channel) {
        while (!closed_[channel] && take()) {}
        return closed_[channel];
    }
    Peer& peer() { return peer_; }

private:
    bool take() {
        const std::string head = peer_.receive(5);
        if (head.size() < 5) return false;
        const std::string payload =
            peer_.receive(static_cast<std::uint8_t>(head[1]) + (std::size_t{static_cast<std::uint8_t>(head[2])} << 8));
        const auto frame = wire::decode_trunk(static_cast<std::uint8_t>(head[0]), payload);
        EXPECT_TRUE(frame);
        if (!frame) return false;
        replies_[frame->channel] += frame->bytes;
        if (frame->kind == wire::TrunkFrame::Kind::close) closed_[frame->channel] = true;
        return true;
    }

    Peer peer_;
    std::map<wire::Channel, std::string> replies_;
    std::map<wire::Channel, bool> closed_;
};

TEST(ServerTrunk, each_channel_is_a_client) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.send(1, kWaitKey);
        relay.send(2, kGetKey);
        EXPECT_EQ(relay.receive(2, 8), le64(0));
        relay.send(3, kSet7 + kGetKey);
        EXPECT_EQ(relay.receive(3, 13), vec("seven"));
        EXPECT_EQ(relay.receive(1, 1), std::string(1, '\0'));
        Relay another(trunks.server->port());
        another.send(1, kGetKey);
        EXPECT_EQ(another.receive(1, 13), vec("seven"));
    });
}

TEST(ServerTrunk, replies_leave_in_the_order_of_the_requests) {
    Trunks trunks;
    std::string requests;
    wire::put_data(requests, 1, kSet7 + kGetKey);
    wire::put_data(requests, 2, kWaitKey);
    wire::put_data(requests, 1, kGetKey);
    std::string replies;
    wire::put_data(replies, 1, vec("seven"));
    wire::put_data(replies, 2, std::string(1, '\0'));
    wire::put_data(replies, 1, vec("seven"));
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.peer().send(requests);
        EXPECT_EQ(relay.peer().receive(replies.size()), replies);
    });
}

TEST(ServerTrunk, requests_arrive_in_any_pieces) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        for (const char byte : kSet7 + kGetKey) {
            relay.send(1, std::string(1, byte));
            relay.send(2, "\x0D" + std::string("\1\2\3\4"));
        }
        EXPECT_EQ(relay.receive(1, 13), vec("seven"));
        EXPECT_EQ(relay.receive(2, 4), "\1\2\3\4");
    });
}

TEST(ServerTrunk, is_for_its_round_only) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        EXPECT_TRUE(Relay(trunks.server->port(), "the next round").peer().closed());
        EXPECT_TRUE(Relay(trunks.server->port(), "").peer().closed());
        Peer without_hello(trunks.server->port());
        std::string bytes(wire::kGreeting);
        wire::put_data(bytes, 1, kGetKey);
        without_hello.send(bytes);
        EXPECT_TRUE(without_hello.closed());
        Peer no_trunk(trunks.server->port());
        no_trunk.send(std::string(wire::kGreeting) + kGetKey);
        EXPECT_TRUE(no_trunk.closed());
        Relay relay(trunks.server->port());
        relay.send(1, kSet7 + kGetKey);
        EXPECT_EQ(relay.receive(1, 13), vec("seven"));
        trunks.loop.post([&] { trunks.server->take_trunks("the next round"); });
        EXPECT_TRUE(relay.peer().closed());
        EXPECT_TRUE(Relay(trunks.server->port()).peer().closed());
    });
}

TEST(ServerTrunk, a_new_round_has_an_empty_store_and_no_old_trunks) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.send(1, kSet7 + kGetKey);
        EXPECT_EQ(relay.receive(1, 13), vec("seven"));
        trunks.loop.post([&] { trunks.server->clear(); });
        EXPECT_TRUE(relay.peer().closed());
        Relay next(trunks.server->port());
        next.send(1, kGetKey);
        EXPECT_EQ(next.receive(1, 8), le64(0));
    });
}

TEST(ServerTrunk, a_refused_request_closes_its_channel_only) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.send(1, "\x7F");
        EXPECT_TRUE(relay.closed(1));
        relay.send(1, kSet7);  // was on its way
        relay.send(2, kGetKey);
        EXPECT_EQ(relay.receive(2, 8), le64(0));
        relay.close(1);
        relay.send(1, kGetKey);
        relay.send(2, kGetKey);
        EXPECT_EQ(relay.receive(2, 8), le64(0));
    });
}

TEST(ServerTrunk, a_closed_channel_waits_for_nothing) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.send(1, kWaitKey);
        relay.close(1);
        relay.send(1, "\x0D" + std::string("\1\2\3\4"));  // the number may be used again
        relay.send(2, kSet7 + kGetKey);
        EXPECT_EQ(relay.receive(2, 13), vec("seven"));
        EXPECT_EQ(relay.receive(1, 4), "\1\2\3\4");
    });
}

TEST(ServerTrunk, a_channel_that_is_not_read_delays_no_other) {
    Trunks trunks;
    const std::string large(8 << 20, 'x');
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.send(1, std::string("\x01\x03\0\0\0\0\0\0\0key", 12) + vec(large) + kGetKey);
        std::string got = relay.receive(1, wire::kWindow);
        relay.send(2, kWaitKey);
        EXPECT_EQ(relay.receive(2, 1), std::string(1, '\0'));
        while (got.size() < large.size() + 8) {
            relay.credit(1, wire::kWindow);
            got += relay.receive(1, std::min(wire::kWindow, large.size() + 8 - got.size()));
        }
        EXPECT_EQ(got, vec(large));
    });
}

TEST(ServerTrunk, many_channels_share_a_full_trunk) {
    Trunks trunks;
    const std::string large(1 << 20, 'x');
    constexpr wire::Channel kChannels = 16;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port());
        relay.send(0, std::string("\x01\x03\0\0\0\0\0\0\0key", 12) + vec(large));
        for (wire::Channel channel = 1; channel <= kChannels; ++channel) {
            relay.credit(channel, 1 << 20);  // before the channel is there: without an effect
            relay.send(channel, kGetKey);
            relay.credit(channel, 1 << 20);
        }
        for (wire::Channel channel = 1; channel <= kChannels; ++channel)
            EXPECT_EQ(relay.receive(channel, large.size() + 8), vec(large)) << channel;
    });
}

TEST(ServerTrunk, ends_with_all_its_clients) {
    Trunks trunks;
    with_clients(trunks.loop, [&] {
        Relay relay(trunks.server->port()), other(trunks.server->port());
        for (wire::Channel channel = 1; channel < 100; ++channel) relay.send(channel, kWaitKey);
        relay.send(100, "\x0D" + std::string("\1\2\3\4"));
        EXPECT_EQ(relay.receive(100, 4), "\1\2\3\4");
        relay.peer().break_off();
        other.send(1, kSet7 + kGetKey);
        EXPECT_EQ(other.receive(1, 13), vec("seven"));
    });
}

}  // namespace
}  // namespace dlaunch::store
