#pragma once
/// Addresses of this host.

#include <string>

namespace dlaunch::base {

/// An address of ours that other nodes can reach: the first global IPv4 address of an interface that is up, else a
/// global IPv6 one, else 127.0.0.1. Never 127.0.1.1, which Debian gives to the host's own name.
[[nodiscard]] std::string reachable_address();

}  // namespace dlaunch::base
