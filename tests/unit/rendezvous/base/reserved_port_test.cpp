#include "rendezvous/base/reserved_port.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::base {
namespace {

sockaddr_in at_loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A listening socket, like those of gRPC's servers if `shares`; invalid if the port is not given to it.
UniqueFd server(int port, bool shares) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    const sockaddr_in address = at_loopback(port);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (shares) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    return ::listen(socket.get(), 1) == 0 ? std::move(socket) : UniqueFd();
}

int connected(int port) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = at_loopback(port);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

TEST(ReservedPort, is_given_only_to_a_server_that_shares) {
    ReservedPort port;
    port.renew();
    ASSERT_GT(port.port(), 0);
    EXPECT_FALSE(server(port.port(), false));
    EXPECT_TRUE(server(port.port(), true));
}

TEST(ReservedPort, takes_no_connection) {
    ReservedPort port;
    port.renew();
    EXPECT_EQ(connected(port.port()), ECONNREFUSED);
    const UniqueFd listening = server(port.port(), true);
    EXPECT_EQ(connected(port.port()), 0);
    const UniqueFd accepted(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    EXPECT_TRUE(accepted);
}

TEST(ReservedPort, is_another_one_after_each_renewal_and_the_old_one_is_free) {
    ReservedPort port;
    port.renew();
    const int old = port.port();
    port.renew();
    EXPECT_NE(port.port(), old);
    EXPECT_TRUE(server(old, false));
}

}  // namespace
}  // namespace dlaunch::base
