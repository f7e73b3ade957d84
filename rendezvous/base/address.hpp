#pragma once
/// Socket addresses as text, and the addresses of this host. No name look-ups.

#include <sys/socket.h>

#include <string>

namespace dlaunch::base {

/// An address of this host that other nodes can reach: the first global IPv4 address of an interface that is up, else a
/// global IPv6 one, else 127.0.0.1. Never 127.0.1.1, which Debian gives to the host's own name.
[[nodiscard]] std::string reachable_address();

/// The address alone, "10.0.0.1", "fe80::1%eth0"; a mapped IPv4 address as IPv4.
[[nodiscard]] std::string address_text(const sockaddr* address);
[[nodiscard]] std::string address_text(const sockaddr_storage& address);

/// A host or address and a port: "node1:29400", "[::1]:29400".
[[nodiscard]] std::string endpoint_text(const std::string& host, int port);

}  // namespace dlaunch::base
