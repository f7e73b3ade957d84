#include "rendezvous/base/peer_uid.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::base {
namespace {

/// A connection over loopback, accepted by a socket of IPv4.
struct Connection {
    /// `mapped`: the client's socket is one of IPv6, as torch's.
    explicit Connection(bool mapped = false) {
        const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in four{};
        four.sin_family = AF_INET;
        four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof four;
        EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&four), size), 0);
        EXPECT_EQ(listen(listener.get(), 1), 0);
        EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&four), &size), 0);
        port = ntohs(four.sin_port);
        client.reset(::socket(mapped ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in6 six{};
        six.sin6_family = AF_INET6;
        six.sin6_port = four.sin_port;
        six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xFF;
        six.sin6_addr.s6_addr[12] = 127;
        six.sin6_addr.s6_addr[15] = 1;
        EXPECT_EQ(mapped ? connect(client.get(), reinterpret_cast<sockaddr*>(&six), sizeof six)
                         : connect(client.get(), reinterpret_cast<sockaddr*>(&four), sizeof four),
                  0);
        sockaddr_in from{};
        size = sizeof from;
        accepted.reset(accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
        client_port = ntohs(from.sin_port);
    }
    UniqueFd client, accepted;
    int port = 0, client_port = 0;
};

TEST(PeerUid, is_that_of_this_process) {
    for (const bool mapped : {false, true}) {
        const Connection connection(mapped);
        EXPECT_EQ(peer_uid(connection.accepted.get()), geteuid()) << mapped;
        EXPECT_EQ(peer_uid_in_tables(connection.accepted.get()), geteuid()) << mapped;
    }
}

TEST(PeerUid, is_unknown_of_a_peer_that_has_closed) {
    Connection connection;
    connection.client.reset();
    EXPECT_EQ(peer_uid(connection.accepted.get()), std::nullopt);
    EXPECT_EQ(peer_uid_in_tables(connection.accepted.get()), std::nullopt);
}

TEST(PeerUid, is_unknown_of_what_is_no_connection) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const UniqueFd one(pair[0]), other(pair[1]);
    EXPECT_EQ(peer_uid(one.get()), std::nullopt);
    EXPECT_EQ(peer_uid(-1), std::nullopt);
}

TEST(PeerUid, is_read_from_the_line_with_both_ends) {
    const Connection connection;
    const TemporaryFolder root;
    std::filesystem::create_directories(root.path() + "/proc/net");
    const auto line = [&](int from, int to, int uid) {
        return fmt::format(
            "   0: 0100007F:{:04X} 0100007F:{:04X} 01 00000000:00000000 00:00000000 00000000 {:5}        0 "
            "12345 1 0000000000000000 20 4 30 10 -1\n",
            from, to, uid);
    };
    std::ofstream(root.path() + "/proc/net/tcp")
        << "  sl  local_address rem_address   st ...\n"
        << line(connection.port, connection.client_port, 7) << line(connection.client_port, connection.port, 1234)
        << line(connection.client_port, connection.port + 1, 8);
    EXPECT_EQ(peer_uid_in_tables(connection.accepted.get(), root.path()), 1234U);
}

}  // namespace
}  // namespace dlaunch::base
