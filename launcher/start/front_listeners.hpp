#pragma once

#include <string>
#include <vector>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// The addresses at which nodes may reach this host, the most likely first, loopback last. `only_here`: loopback alone.
/// `named`: --local-addr, then only it. Takes at most `most` of `own`. No I/O.
[[nodiscard]] std::vector<std::string> front_addresses(const std::vector<std::string>& own, bool only_here,
                                                       const std::string& named, std::size_t most);

/// Listens at all addresses with one port. Addresses that are refused are left out; an error if none is left.
[[nodiscard]] base::Result<std::vector<store::Listener>> listen_at(const std::vector<std::string>& addresses);

}  // namespace dlaunch::launcher
