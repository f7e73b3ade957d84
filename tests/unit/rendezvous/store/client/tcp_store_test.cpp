// The blocking client with dlaunch's server, over loopback; interop tests use torch's.

#include "rendezvous/store/client/tcp_store.hpp"

#include <pthread.h>
#include <csignal>

#include <atomic>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/server/threaded_server.hpp"
#include "tests/unit/rendezvous/store/client/stores_fixture.hpp"

namespace dlaunch::store {
namespace {

struct Served {
    std::unique_ptr<ThreadedServer> server = *ThreadedServer::adopt(std::move(open_listener("127.0.0.1", 0)->socket));
    std::unique_ptr<TcpStore> connect() { return *TcpStore::connect("127.0.0.1", server->port(), soon()); }
};

struct Tcp : Served {
    std::unique_ptr<TcpStore> one = connect(), two = connect();
    Store& store() { return *one; }
    Store& another() { return *two; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(TcpStore, AnyStore, Tcp);

TEST(TcpStore, waits_for_a_server_that_comes_up) {
    auto listener = open_listener("127.0.0.1", 0);
    const int port = listener->port;
    listener->socket.reset();
    std::thread client([&] { EXPECT_TRUE(TcpStore::connect("localhost", port, soon())); });
    const auto server = ThreadedServer::adopt(std::move(open_listener("127.0.0.1", port)->socket));
    client.join();
}

TEST(TcpStore, names_the_server_that_does_not_answer_by_the_deadline) {
    auto listener = open_listener("127.0.0.1", 0);
    const int port = listener->port;
    listener->socket.reset();
    const auto store = TcpStore::connect("127.0.0.1", port, base::Clock::now() + std::chrono::milliseconds(20));
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().text,
              "store at 127.0.0.1:" + std::to_string(port) + ": Connection refused until the deadline");
    EXPECT_EQ(store.error().status, exit_status::kRendezvousTimeout);
}

TEST(TcpStore, an_interrupted_wait_goes_on) {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};  // without SA_RESTART
    sigaction(SIGUSR1, &nothing, nullptr);
    Tcp tcp;
    std::atomic<bool> done = false;
    std::thread waiter([&] {
        EXPECT_TRUE(tcp.one->wait(Strings{"/k"}, soon()));
        done = true;
    });
    for (int i = 0; i < 100; ++i) pthread_kill(waiter.native_handle(), SIGUSR1);
    EXPECT_FALSE(done);
    EXPECT_TRUE(tcp.two->set("/k", "v", soon()));
    while (!done) pthread_kill(waiter.native_handle(), SIGUSR1);
    waiter.join();
    signal(SIGUSR1, SIG_DFL);
}

TEST(TcpStore, a_server_that_is_gone_is_reported_at_once) {
    Tcp tcp;
    std::thread waiter([&] {
        const auto lost = tcp.one->wait(Strings{"/never"}, soon());
        ASSERT_FALSE(lost);
        EXPECT_EQ(lost.error().status, exit_status::kCoordinatorLost);
    });
    while (*tcp.two->add("/started", 1, soon()) < 100) {
    }  // most likely the wait is pending by now; either way it must end
    tcp.server.reset();
    waiter.join();
    EXPECT_EQ(tcp.one->set("/k", "v", soon()).error().status, exit_status::kCoordinatorLost);
}

}  // namespace
}  // namespace dlaunch::store
