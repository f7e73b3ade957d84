#pragma once
/// Resolves names, and finds the addresses of this host. Queries the system.

#include <sys/socket.h>

#include <string>
#include <vector>

#include "rendezvous/base/result.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::rendezvous {

/// The numeric addresses of a host name. IPv4 comes first, so that all nodes advertise the same version. A numeric
/// address resolves to itself. Blocks as long as the resolver does.
[[nodiscard]] base::Result<std::vector<std::string>> addresses_of(const std::string& host);

/// Addresses of this host's interfaces, including loopback.
[[nodiscard]] std::vector<std::string> own_addresses();

/// The first address of an interface, IPv4 before IPv6; empty: none has this name and an address.
[[nodiscard]] std::string address_of_interface(const std::string& name);

/// Whether `host` is a numeric address, with a scope or without.
[[nodiscard]] bool is_numeric(const std::string& host);

/// Whether a numeric address is IPv4; else it is IPv6.
[[nodiscard]] bool is_version_4(const std::string& address);

[[nodiscard]] bool is_loopback(const std::string& address);

/// Whether the user wrote a loopback address or "localhost".
[[nodiscard]] bool means_loopback(const std::string& written);

/// The addresses at which this host would listen as the coordinator at `place`; none if `place` is another host.
/// Loopback counts only if the user wrote a loopback address. If this host's own name resolves to loopback (Debian:
/// 127.0.1.1), the result is `reachable`.
[[nodiscard]] std::vector<std::string> own_addresses_at(const Endpoint& place, const std::vector<std::string>& resolved,
                                                        const std::vector<std::string>& own,
                                                        const std::string& host_name, const std::string& reachable);

/// The source address that the kernel would choose for packets to a numeric address; empty if there is no route. Sends
/// nothing.
[[nodiscard]] std::string own_address_towards(const std::string& address);

/// Replaces the interface after the % of a link-local address by that of `ours`, because interface names differ between
/// nodes. Other addresses stay unchanged.
[[nodiscard]] std::string in_our_scope(std::string address, const std::string& ours);

/// A numeric address and a port as a socket address.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
};
[[nodiscard]] base::Result<SocketAddress> socket_address(const std::string& address, int port);

}  // namespace dlaunch::rendezvous
