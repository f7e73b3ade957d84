#pragma once
/// Which addresses a name stands for, and which of them are ours. Asks the system.

#include <sys/socket.h>

#include <string>
#include <vector>

#include "rendezvous/base/result.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::rendezvous {

/// The numeric addresses of a host name, IPv4 first, so that nodes that have both advertise the same kind. A numeric
/// address stands for itself. Blocks as long as the resolver does.
[[nodiscard]] base::Result<std::vector<std::string>> addresses_of(const std::string& host);

/// Addresses of this host's interfaces, loopback included.
[[nodiscard]] std::vector<std::string> own_addresses();

/// Of a numeric address; else it is IPv6.
[[nodiscard]] bool is_version_4(const std::string& address);

[[nodiscard]] bool is_loopback(const std::string& address);

/// Whether the user names this host alone.
[[nodiscard]] bool means_loopback(const std::string& written);

/// The addresses that a coordinator at `place` listens on where this host is to host it; none: another host is.
/// Loopback counts only where the user wrote it. This host's name, with or without its domain, that stands for
/// 127.0.1.1, as Debian has it, means the address that other hosts reach this one at.
[[nodiscard]] std::vector<std::string> own_addresses_at(const Endpoint& place, const std::vector<std::string>& resolved,
                                                        const std::vector<std::string>& own,
                                                        const std::string& host_name, const std::string& reachable);

/// This host's address from which the kernel would send to a numeric address; empty where there is no route. Sends
/// nothing.
[[nodiscard]] std::string own_address_towards(const std::string& address);

/// A link-local address with the interface of `ours` behind the %, as that differs between nodes. Any other address
/// stays as it is.
[[nodiscard]] std::string in_our_scope(std::string address, const std::string& ours);

/// A socket address of a numeric address.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
};
[[nodiscard]] base::Result<SocketAddress> socket_address(const std::string& address, int port);

}  // namespace dlaunch::rendezvous
