#include "rendezvous/base/listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "rendezvous/base/address.hpp"

namespace dlaunch::store {
namespace {

constexpr int kBacklog = 65535;  // the kernel takes the smaller of this and net.core.somaxconn

base::Error failed(const std::string& endpoint, int number) {
    return {fmt::format("{}: {}", endpoint, std::strerror(number))};
}

int port_of(const sockaddr_storage& address) {
    in_port_t port = 0;
    const std::size_t offset =
        address.ss_family == AF_INET ? offsetof(sockaddr_in, sin_port) : offsetof(sockaddr_in6, sin6_port);
    std::memcpy(&port, reinterpret_cast<const char*>(&address) + offset, sizeof port);
    return ntohs(port);
}

/// Accepted sockets inherit the options, which saves system calls for each. Keep-alive detects a vanished host after 10
/// + 4 * 5 s when nothing is in flight, TCP_USER_TIMEOUT after 60 s when sent bytes stay unacknowledged. The latter
/// also closes a client that leaves a full receive buffer unread for so long.
bool notice_dead_peers(int fd) {
    constexpr int kYes = 1, kIdle_s = 10, kInterval_s = 5, kProbes = 4;
    constexpr unsigned kUnacknowledged_ms = 60'000;
    const auto set = [fd](int level, int option, const auto& value) {
        return setsockopt(fd, level, option, &value, sizeof value) == 0;
    };
    return set(SOL_SOCKET, SO_KEEPALIVE, kYes) && set(IPPROTO_TCP, TCP_KEEPIDLE, kIdle_s) &&
           set(IPPROTO_TCP, TCP_KEEPINTVL, kInterval_s) && set(IPPROTO_TCP, TCP_KEEPCNT, kProbes) &&
           set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledged_ms);
}

base::Result<base::UniqueFd> bound_socket(const std::string& address, int port, Names names) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | (names == Names::refused ? AI_NUMERICHOST : 0);
    addrinfo* list = nullptr;
    if (const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0)
        return base::Error{fmt::format("{}: {}, expected an address of this host", address, gai_strerror(error))};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
    base::UniqueFd socket(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(socket.get(), list->ai_addr, list->ai_addrlen) != 0)
        return failed(base::endpoint_text(address, port), errno);
    return socket;
}

}  // namespace

int bound_port(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
    return port_of(address);
}

base::Result<Listener> open_listener(const std::string& address, int port, Names names) {
    auto socket = bound_socket(address, port, names);
    if (!socket) return socket.error();
    return adopt_listener(std::move(*socket));
}

base::Result<base::UniqueFd> bind_free_port(const std::string& address) {
    return bound_socket(address, 0, Names::refused);
}

base::Result<Listener> adopt_listener(base::UniqueFd socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = socket.get(), yes = 1;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return failed("listening socket", errno);
    std::string endpoint = base::endpoint_text(base::address_text(address), port_of(address));
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 || !notice_dead_peers(fd) ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 || ::listen(fd, kBacklog) != 0)
        return failed(endpoint, errno);
    return Listener{std::move(socket), std::move(endpoint), port_of(address)};
}

}  // namespace dlaunch::store
