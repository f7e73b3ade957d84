#pragma once
/// The texts that report missing nodes to users. Each names at most eight hosts of a kind.

#include <cstddef>
#include <string>
#include <vector>

namespace dlaunch::rendezvous {

/// "7 of 8 nodes, waiting for: node5"; without names just the count.
[[nodiscard]] std::string waiting_text(std::size_t have, std::size_t want, const std::vector<std::string>& missing);

/// "going on with 2 nodes, c in place of b", "going on with 1 node, without b"; for the round that follows the loss of
/// `lost`. `added` were not in the last round.
[[nodiscard]] std::string going_on_text(std::size_t nodes, const std::vector<std::string>& lost,
                                        const std::vector<std::string>& added);

/// The hosts of `expected` that are not in `present`; a host of several agents appears once for each missing agent.
[[nodiscard]] std::vector<std::string> missing_hosts(const std::vector<std::string>& expected,
                                                     const std::vector<std::string>& present);

}  // namespace dlaunch::rendezvous
