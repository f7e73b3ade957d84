#pragma once
/// The text that reports missing nodes to users.

#include <cstddef>
#include <string>
#include <vector>

namespace dlaunch::rendezvous {

/// "7 of 8 nodes, waiting for: node5"; without names just the count. At most eight names are shown.
[[nodiscard]] std::string waiting_text(std::size_t have, std::size_t want, const std::vector<std::string>& missing);

/// The hosts of `expected` that are not in `present`; a host of several agents appears once for each missing agent.
[[nodiscard]] std::vector<std::string> missing_hosts(const std::vector<std::string>& expected,
                                                     const std::vector<std::string>& present);

}  // namespace dlaunch::rendezvous
