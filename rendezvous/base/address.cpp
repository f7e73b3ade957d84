#include "rendezvous/base/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace dlaunch::base {
namespace {

/// A link-local address is valid on one interface only, which the scope names.
std::string scope_of(const sockaddr_in6& address) {
    if (address.sin6_scope_id == 0) return {};
    std::array<char, IF_NAMESIZE> name{};
    if (if_indextoname(address.sin6_scope_id, name.data())) return fmt::format("%{}", name.data());
    return fmt::format("%{}", address.sin6_scope_id);
}

/// Whether other hosts can reach this host at the address.
bool is_global(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
        const auto number = ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
        return number >> 24 != 127 && number >> 16 != 0xA9FE;  // not loopback, not link-local 169.254
    }
    if (address->sa_family != AF_INET6) return false;
    const auto& bytes = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    return !IN6_IS_ADDR_LOOPBACK(&bytes) && !IN6_IS_ADDR_LINKLOCAL(&bytes);
}

}  // namespace

std::string address_text(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address->sa_family == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(address);
        return inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
    }
    const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        constexpr std::size_t kPrefix = 12;
        return inet_ntop(AF_INET, &six->sin6_addr.s6_addr[kPrefix], text.data(), text.size());
    }
    return inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size()) + scope_of(*six);
}

std::string address_text(const sockaddr_storage& address) {
    return address_text(reinterpret_cast<const sockaddr*>(&address));
}

std::string endpoint_text(const std::string& host, int port) {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string reachable_address() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return "127.0.0.1";
    std::string four, six;
    for (const ifaddrs* at = list; at; at = at->ifa_next) {
        if (!at->ifa_addr || !(at->ifa_flags & IFF_UP) || !is_global(at->ifa_addr)) continue;
        std::string& found = at->ifa_addr->sa_family == AF_INET ? four : six;
        if (found.empty()) found = address_text(at->ifa_addr);
    }
    freeifaddrs(list);
    if (!four.empty()) return four;
    return six.empty() ? "127.0.0.1" : six;
}

}  // namespace dlaunch::base
