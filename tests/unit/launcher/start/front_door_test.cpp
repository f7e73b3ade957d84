// Agents and strangers at the front end's port, over loopback.

#include "launcher/start/front_door.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "launcher/start/front_search.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"

namespace dlaunch::launcher {
namespace {

auth::TlsContextPtr tls_of(const char* token) { return *auth::TlsContext::of(auth::Token(token)); }

const auth::TlsContextPtr kPlain;
const std::string kAgent = "node1";

struct Front {
    explicit Front(FrontDoor::Admission admission)
        : door(loop, ports, std::move(admission),
               {.agent =
                    [this](const NodeHello& hello, std::unique_ptr<FrameSocket> socket) {
                        agents.push_back(hello.name);
                        sockets.push_back(std::move(socket));
                        sockets.back()->send(encode(FrameKind::welcome));
                    },
                .refused = [this](const std::string& line) { lines.push_back(line); }}) {}

    /// The outcome for an agent; to be called in a thread beside the loop's.
    [[nodiscard]] base::Result<FrontConnection> find(const auth::TlsContextPtr& tls, std::string key = {}) const {
        return find_front({{"127.0.0.1", ports[0].port}}, {"1.2.3", std::move(key), kAgent}, tls,
                          base::Clock::now() + std::chrono::seconds(30));
    }

    base::Loop loop;
    std::vector<store::Listener> ports = [] {
        std::vector<store::Listener> made;
        made.push_back(*store::open_listener("127.0.0.1", 0));
        return made;
    }();
    std::vector<std::string> agents, lines;
    std::vector<std::unique_ptr<FrameSocket>> sockets;
    FrontDoor door;
};

TEST(FrontDoor, AdmitsWhoHasTheToken) {
    Front front({tls_of("the-token-of-the-job"), {}});
    with_clients(front.loop, [&] { EXPECT_TRUE(front.find(tls_of("the-token-of-the-job"))); });
    EXPECT_EQ(front.agents, std::vector{kAgent});
    EXPECT_TRUE(front.lines.empty());
}

TEST(FrontDoor, RefusesAnotherTokenInWords) {
    Front front({tls_of("the-token-of-the-job"), {}});
    with_clients(front.loop, [&] {
        for (int count = 0; count < 2; ++count) {
            const auto found = front.find(tls_of("a-token-of-another-job"));
            ASSERT_FALSE(found);
            EXPECT_EQ(found.error().status, exit_status::kRefused);
            EXPECT_NE(found.error().text.find("has another token"), std::string::npos) << found.error().text;
        }
    });
    EXPECT_TRUE(front.agents.empty());
    EXPECT_EQ(front.lines, std::vector<std::string>{"refused a connection from 127.0.0.1: it has another token"});
}

TEST(FrontDoor, ClosesPlainConnectionsWhereThereIsAToken) {
    Front front({tls_of("the-token-of-the-job"), {}});
    with_clients(front.loop, [&] {
        EXPECT_FALSE(front.find(kPlain));
        Peer scanner(front.ports[0].port);
        scanner.send("GET / HTTP/1.1\r\n\r\n");
        EXPECT_TRUE(scanner.closed());
    });
    EXPECT_TRUE(front.agents.empty());
}

TEST(FrontDoor, ServesAgentsBesideHalfAHello) {
    Front front({tls_of("the-token-of-the-job"), {}});
    with_clients(front.loop, [&] {
        Peer stranger(front.ports[0].port);
        stranger.send(std::string("\x16\x03\x01\x01", 4));
        EXPECT_TRUE(front.find(tls_of("the-token-of-the-job")));
    });
    EXPECT_EQ(front.agents, std::vector{kAgent});
}

TEST(FrontDoor, LetsHandshakesWaitBeyondTheLimit) {
    const auto tls = tls_of("the-token-of-the-job");
    Front front({tls, {}});
    auth::Tls recorded(tls, auth::Tls::Side::client);
    with_clients(front.loop, [&] {
        std::vector<Peer> replayers;
        const auto begin = std::chrono::steady_clock::now();
        for (int count = 0; count < 300; ++count) replayers.emplace_back(front.ports[0].port).send(recorded.sealed());
        EXPECT_NE(replayers[255].receive(1), "");
        const std::string answer = replayers[256].receive_now(1);
        const bool is_in_time = std::chrono::steady_clock::now() - begin < std::chrono::seconds(3);
        EXPECT_TRUE(answer.empty() || !is_in_time) << "a handshake in progress has 3 s, and then makes room";
        replayers.erase(replayers.begin(), replayers.begin() + 100);
        EXPECT_NE(replayers.back().receive(1), "");
        EXPECT_TRUE(front.find(tls));
    });
    EXPECT_EQ(front.agents, std::vector{kAgent});
}

TEST(FrontDoor, AsksForTheKeyOfAnOpenJob) {
    Front front({nullptr, "key"});
    with_clients(front.loop, [&] {
        EXPECT_TRUE(front.find(kPlain, "key"));
        EXPECT_FALSE(front.find(kPlain, "another"));
        EXPECT_FALSE(front.find(tls_of("the-token-of-the-job")));
    });
    EXPECT_EQ(front.agents, std::vector{kAgent});
}

TEST(FrontDoor, AcceptsAgainAfterTheLimitOfStrangers) {
    Front front({nullptr, "key"});
    with_clients(front.loop, [&] {
        std::vector<Peer> strangers;
        for (int count = 0; count < 1'100; ++count) strangers.emplace_back(front.ports[0].port);
        strangers.clear();
        EXPECT_TRUE(front.find(kPlain, "key"));
    });
    EXPECT_EQ(front.agents, std::vector{kAgent});
}

TEST(FrontDoor, CarriesFramesLargerThanTheSocketsBuffers) {
    Front front({tls_of("the-token-of-the-job"), {}});
    const NodeOrder order{.name = "node1", .words = {"dlaunch"}, .variables = {"A=" + std::string(8 << 20, 'x')}};
    with_clients(front.loop, [&] {
        const auto connection = front.find(tls_of("the-token-of-the-job"));
        ASSERT_TRUE(connection);
        front.loop.post([&] { front.sockets[0]->send(encode(order)); });
        const auto received = await_order(*connection);
        ASSERT_TRUE(received) << received.error().text;
        EXPECT_EQ(*received, order);
        front.loop.post([&] {
            front.sockets[0]->limit_payload(kMostFrame);
            front.sockets[0]->handle({.frame =
                                          [&](FrameKind, std::string_view payload) {
                                              EXPECT_EQ(decode_end(payload)->reason.size(), std::size_t{8} << 20);
                                              front.sockets.clear();
                                          },
                                      .closed = [](const std::string&) { FAIL(); }});
        });
        send_last(*connection, {1, std::string(8 << 20, 'y')});
    });
    EXPECT_TRUE(front.sockets.empty());
}

}  // namespace
}  // namespace dlaunch::launcher
