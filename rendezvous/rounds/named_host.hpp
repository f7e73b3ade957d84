#pragma once
/// Finds the rank that lost peers name by its host: "Connection closed by peer [10.0.0.3]:4711" names a rank only if
/// the host at that address runs one. No I/O.

#include <cstdint>
#include <optional>
#include <string>

#include "rendezvous/rounds/causes.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace dlaunch::rendezvous {

struct NamedRank {
    std::int32_t rank = 0;
    std::string host;
};

/// Of the causes without a rank of their own to name. Hosts that lost a peer themselves are named only if no other host
/// is, then the host that most nodes name counts.
[[nodiscard]] std::optional<NamedRank> rank_named_by_host(const Causes& causes, const Roster& roster);

}  // namespace dlaunch::rendezvous
