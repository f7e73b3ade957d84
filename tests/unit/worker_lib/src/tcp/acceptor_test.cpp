#include "worker_lib/src/tcp/acceptor.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "rendezvous/base/connect.hpp"

namespace dlaunch::worker::tcp {
namespace {

using std::chrono::seconds;

/// Accepts until a connection of the group has come.
Acceptor::Accepted accept_one(Acceptor& acceptor, int ranks) {
    for (;;) {
        if (auto accepted = acceptor.accept(ranks)) return std::move(*accepted);
        if (!base::await_ready(acceptor.socket(), POLLIN, after(seconds(10)))) throw std::runtime_error("none came");
    }
}

/// Connects and sends some bytes, as a client without the secret.
base::UniqueFd strange(const Acceptor& acceptor, const std::string& bytes) {
    sockaddr_in place{};
    socklen_t size = sizeof place;
    EXPECT_EQ(getsockname(acceptor.socket(), reinterpret_cast<sockaddr*>(&place), &size), 0);
    base::UniqueFd socket;
    EXPECT_EQ(base::connect_by(socket, reinterpret_cast<const sockaddr*>(&place), size, after(seconds(10))), 0);
    EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    return socket;
}

TEST(AcceptorTest, takes_connections_of_the_group) {
    for (const char* address : {"127.0.0.1", "::1"}) {
        Acceptor acceptor(address);
        EXPECT_FALSE(acceptor.accept(4));
        const auto two = connect(acceptor.invitation(), 2, Purpose::collectives, after(seconds(10)));
        const auto three = connect(acceptor.invitation(), 3, Purpose::messages, after(seconds(10)));
        ASSERT_TRUE(two && three);
        const auto first = accept_one(acceptor, 4), second = accept_one(acceptor, 4);
        EXPECT_EQ(first.rank, 2);
        EXPECT_EQ(first.purpose, Purpose::collectives);
        EXPECT_EQ(second.rank, 3);
        EXPECT_EQ(second.purpose, Purpose::messages);
        ASSERT_EQ(send(two.get(), "x", 1, 0), 1);
        char byte = 0;
        EXPECT_TRUE(base::await_ready(first.socket.get(), POLLIN, after(seconds(10))));
        EXPECT_EQ(recv(first.socket.get(), &byte, 1, 0), 1);
        EXPECT_EQ(byte, 'x');
    }
}

TEST(AcceptorTest, closes_what_does_not_know_the_secret_or_is_no_rank) {
    Acceptor acceptor("127.0.0.1");
    const auto other = strange(acceptor, "GET / HTTP/1.1\r\n\r\n"), brief = strange(acceptor, "GET"),
               too_high = connect(acceptor.invitation(), 4, Purpose::collectives, after(seconds(10))),
               member = connect(acceptor.invitation(), 1, Purpose::collectives, after(seconds(10)));
    EXPECT_EQ(accept_one(acceptor, 4).rank, 1);
    for (const auto* socket : {&other, &brief, &too_high}) {
        char byte = 0;
        ASSERT_TRUE(base::await_ready(socket->get(), POLLIN, after(seconds(10))));
        EXPECT_LE(recv(socket->get(), &byte, 1, 0), 0);
    }
}

TEST(AcceptorTest, refuses_connections_once_it_is_closed) {
    Acceptor acceptor("127.0.0.1");
    acceptor.close();
    EXPECT_FALSE(acceptor.accept(4));
    EXPECT_THROW((void)connect(acceptor.invitation(), 1, Purpose::messages, after(seconds(10))), std::runtime_error);
}

}  // namespace
}  // namespace dlaunch::worker::tcp
