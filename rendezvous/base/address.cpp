#include "rendezvous/base/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace dlaunch::base {
namespace {

std::string text_of(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = address->sa_family == AF_INET
                            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
                            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
    inet_ntop(address->sa_family, bytes, text.data(), text.size());
    return text.data();
}

/// Whether other hosts could mean us by it.
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

std::string reachable_address() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return "127.0.0.1";
    std::string four, six;
    for (const ifaddrs* at = list; at; at = at->ifa_next) {
        if (!at->ifa_addr || !(at->ifa_flags & IFF_UP) || !is_global(at->ifa_addr)) continue;
        std::string& found = at->ifa_addr->sa_family == AF_INET ? four : six;
        if (found.empty()) found = text_of(at->ifa_addr);
    }
    freeifaddrs(list);
    if (!four.empty()) return four;
    return six.empty() ? "127.0.0.1" : six;
}

}  // namespace dlaunch::base
