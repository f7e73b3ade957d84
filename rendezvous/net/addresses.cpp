#include "rendezvous/net/addresses.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "rendezvous/base/address.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/host_names.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::string_view kMapped = "::ffff:";

/// Converts a mapped IPv4 address to IPv4.
std::string plain(std::string text) {
    if (text.starts_with(kMapped) && text.find('.') != std::string::npos) text.erase(0, kMapped.size());
    return text;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

using List = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

base::Result<List> look_up(const std::string& host, const std::string& port, int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    const int failed = getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &list);
    if (failed != 0)
        return base::Error{fmt::format("{}: {}", host, gai_strerror(failed)), exit_status::kRendezvousTimeout};
    return List(list, freeaddrinfo);
}

}  // namespace

bool is_numeric(const std::string& host) { return look_up(host, "", AI_NUMERICHOST).has_value(); }

bool is_version_4(const std::string& address) { return address.find(':') == std::string::npos; }

base::Result<std::vector<std::string>> addresses_of(const std::string& host) {
    auto list = look_up(host, "", 0);
    if (!list) return list.error();
    std::vector<std::string> found;
    for (const addrinfo* at = list->get(); at; at = at->ai_next)
        if (std::string text = base::address_text(at->ai_addr); !contains(found, text))
            found.push_back(std::move(text));
    std::stable_partition(found.begin(), found.end(), is_version_4);
    return found;
}

namespace {

/// Of one interface, or of all with an empty name.
std::vector<std::string> addresses_of_interfaces(std::string_view name) {
    std::vector<std::string> found;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return found;
    for (const ifaddrs* at = list; at; at = at->ifa_next) {
        if (!at->ifa_addr || (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6)) continue;
        if (name.empty() || name == at->ifa_name) found.push_back(base::address_text(at->ifa_addr));
    }
    freeifaddrs(list);
    return found;
}

}  // namespace

std::vector<std::string> own_addresses() { return addresses_of_interfaces({}); }

std::string address_of_interface(const std::string& name) {
    auto found = name.empty() ? std::vector<std::string>() : addresses_of_interfaces(name);
    std::stable_partition(found.begin(), found.end(), is_version_4);
    return found.empty() ? std::string() : found.front();
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

bool means_loopback(const std::string& written) {
    return base::lower_name(written) == "localhost" || is_loopback(plain(base::lower_name(written)));
}

std::vector<std::string> own_addresses_at(const Endpoint& place, const std::vector<std::string>& resolved,
                                          const std::vector<std::string>& own, const std::string& host_name,
                                          const std::string& reachable) {
    std::vector<std::string> found;
    std::copy_if(resolved.begin(), resolved.end(), std::back_inserter(found),
                 [&](const std::string& address) { return !is_loopback(address) && contains(own, address); });
    if (!found.empty()) return found;
    if (means_loopback(place.host)) {
        std::copy_if(resolved.begin(), resolved.end(), std::back_inserter(found), is_loopback);
        return found;
    }
    const bool has_loopback = std::any_of(resolved.begin(), resolved.end(), is_loopback);
    if (has_loopback && base::is_same_host(host_name, place.host)) found.push_back(reachable);
    return found;
}

std::string own_address_towards(const std::string& address) {
    auto there = socket_address(address, 9);
    if (!there) return {};
    const base::UniqueFd probe(socket(there->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&there->storage), there->size) != 0) return {};
    sockaddr_storage here{};
    socklen_t size = sizeof here;
    if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) return {};
    return base::address_text(here);
}

std::string in_our_scope(std::string address, const std::string& ours) {
    const std::size_t scope = address.find('%'), our_scope = ours.find('%');
    if (scope == std::string::npos || our_scope == std::string::npos) return address;
    return address.substr(0, scope) + ours.substr(our_scope);
}

base::Result<SocketAddress> socket_address(const std::string& address, int port) {
    auto list = look_up(address, std::to_string(port), AI_NUMERICHOST | AI_NUMERICSERV);
    if (!list) return list.error();
    SocketAddress found;
    std::memcpy(&found.storage, list->get()->ai_addr, list->get()->ai_addrlen);
    found.size = list->get()->ai_addrlen;
    return found;
}

}  // namespace dlaunch::rendezvous
