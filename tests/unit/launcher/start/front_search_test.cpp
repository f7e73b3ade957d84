// An agent's way to the front end over loopback; a socket of the test acts as the front end.

#include "launcher/start/front_search.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <thread>
#include <vector>

#include "launcher/start/frame_socket.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/listener.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"

namespace dlaunch::launcher {
namespace {

const NodeHello kHello{"1.2.3", "key", "node1"};
const NodeOrder kOrder{.name = "node1", .folder = "/tmp", .words = {"dlaunch", "true"}};

/// Runs `answer` in a thread of its own for the first connection, behind its hello.
struct Front {
    explicit Front(std::function<void(Peer&)> answer)
        : thread([this, answer = std::move(answer)] {
              pollfd wait{port.socket.get(), POLLIN, 0};
              EXPECT_EQ(poll(&wait, 1, 30'000), 1);
              Peer peer(base::UniqueFd(accept4(port.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)));
              const std::string hello = encode(kHello);
              EXPECT_EQ(peer.receive(hello.size()), hello);
              answer(peer);
          }) {}
    ~Front() { thread.join(); }

    [[nodiscard]] base::Result<FrontConnection> find() const {
        return find_front({{"127.0.0.1", port.port}}, kHello, nullptr, base::Clock::now() + std::chrono::seconds(30));
    }

    store::Listener port = *store::open_listener("127.0.0.1", 0);
    std::thread thread;
};

TEST(FrontSearch, keeps_frames_that_come_with_the_welcome) {
    const Front front([](Peer& peer) {
        peer.send(encode(FrameKind::welcome) + encode(FrameKind::beat) + encode(kOrder) +
                  encode(FrameKind::signal, "\x0F"));
        EXPECT_TRUE(peer.closed());
    });
    auto connection = front.find();
    ASSERT_TRUE(connection);
    EXPECT_EQ(connection->address, "127.0.0.1");
    const auto order = await_order(*connection);
    ASSERT_TRUE(order);
    EXPECT_EQ(*order, kOrder);

    base::Loop loop;
    std::string signals;
    FrameSocket socket(loop, std::move(connection->stream), connection->frames,
                       {.frame =
                            [&](FrameKind kind, std::string_view payload) {
                                EXPECT_EQ(kind, FrameKind::signal);
                                signals = payload;
                                loop.stop();
                            },
                        .closed = [&](const std::string&) { loop.stop(); }});
    loop.run();
    EXPECT_EQ(signals, "\x0F");
}

TEST(FrontSearch, names_another_service) {
    const Front front([](Peer& peer) {
        peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        EXPECT_TRUE(peer.closed());
    });
    const auto connection = front.find();
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().text, "the front end cannot be reached: 127.0.0.1: another service listens there");
    EXPECT_EQ(connection.error().status, exit_status::kCoordinatorLost);
}

TEST(FrontSearch, reports_a_front_end_that_ends_before_its_order) {
    const Front front([](Peer& peer) {
        peer.send(encode(FrameKind::welcome));
        peer.leave();
    });
    const auto connection = front.find();
    ASSERT_TRUE(connection);
    const auto order = await_order(*connection);
    ASSERT_FALSE(order);
    EXPECT_EQ(order.error().text, "the front end has ended");
}

TEST(FrontSearch, sends_its_last_frame_before_the_front_end_closes) {
    const NodeEnd end{127, std::string(1 << 20, 'x')};  // more than the socket's send buffer
    const Front front([&](Peer& peer) {
        peer.send(encode(FrameKind::welcome));
        const std::string frame = encode(end);
        EXPECT_EQ(peer.receive(frame.size()), frame);
        peer.leave();
    });
    const auto connection = front.find();
    ASSERT_TRUE(connection);
    send_last(*connection, end);
}

}  // namespace
}  // namespace dlaunch::launcher
