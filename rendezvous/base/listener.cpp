#include "rendezvous/base/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace dlaunch::store {
namespace {

constexpr int kBacklog = 65535;  // the kernel takes the smaller of this and net.core.somaxconn

base::Error failed(const std::string& endpoint, int number) {
    return {fmt::format("{}: {}", endpoint, std::strerror(number))};
}

std::string endpoint_text(const std::string& address, int port) {
    if (address.find(':') == std::string::npos) return fmt::format("{}:{}", address, port);
    return fmt::format("[{}]:{}", address, port);
}

int port_of(const sockaddr_storage& address) {
    in_port_t port = 0;
    const std::size_t offset =
        address.ss_family == AF_INET ? offsetof(sockaddr_in, sin_port) : offsetof(sockaddr_in6, sin6_port);
    std::memcpy(&port, reinterpret_cast<const char*>(&address) + offset, sizeof port);
    return ntohs(port);
}

}  // namespace

std::string address_text(const sockaddr_storage& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const auto* start = reinterpret_cast<const char*>(&address);
    const void* bytes =
        start + (address.ss_family == AF_INET ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr));
    int family = address.ss_family;
    if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(static_cast<const in6_addr*>(bytes))) {
        bytes = static_cast<const char*>(bytes) + 12;
        family = AF_INET;
    }
    inet_ntop(family, bytes, text.data(), text.size());
    return text.data();
}

base::Result<Listener> open_listener(const std::string& address, int port) {
    const std::string wanted = endpoint_text(address, port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    if (const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0)
        return base::Error{fmt::format("{}: {}, expected an address of this host", wanted, gai_strerror(error))};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
    base::UniqueFd socket(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(socket.get(), list->ai_addr, list->ai_addrlen) != 0 || ::listen(socket.get(), kBacklog) != 0)
        return failed(wanted, errno);
    return adopt_listener(std::move(socket));
}

base::Result<Listener> adopt_listener(base::UniqueFd socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = socket.get(), yes = 1, idle_s = 60;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return failed("listening socket", errno);
    std::string endpoint = endpoint_text(address_text(address), port_of(address));
    // Accepted sockets inherit the options: no system call for each of them.
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s) != 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0 || ::listen(fd, kBacklog) != 0)
        return failed(endpoint, errno);
    return Listener{std::move(socket), std::move(endpoint), port_of(address)};
}

}  // namespace dlaunch::store
