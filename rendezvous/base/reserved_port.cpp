#include "rendezvous/base/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/listener.hpp"

namespace dlaunch::base {
namespace {

/// Bound to a free port of all addresses: IPv6's and IPv4's, or IPv4's alone where the host has no IPv6.
UniqueFd bound_socket(int family) {
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return {};
    const int yes = 1, no = 0;
    if (setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0) return {};
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    if (family == AF_INET6) {
        if (setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) return {};
        if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six) != 0) return {};
    } else if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four) != 0) {
        return {};
    }
    return socket;
}

}  // namespace

void ReservedPort::renew() {
    UniqueFd socket = bound_socket(AF_INET6);
    if (!socket) socket = bound_socket(AF_INET);
    port_ = socket ? std::max(store::bound_port(socket.get()), 0) : 0;
    socket_ = std::move(socket);
}

}  // namespace dlaunch::base
