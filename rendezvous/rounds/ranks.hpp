#pragma once
/// Assignment of ranks to the nodes of a round. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::rendezvous {

/// Natural order: digits are compared as numbers, node2 before node10.
[[nodiscard]] bool natural_less(std::string_view left, std::string_view right);

/// A node that takes part in the round.
struct RankRequest {
    std::string host;
    std::string order_key;                ///< a scheduler's order; used if every node has one
    std::optional<std::int32_t> claimed;  ///< --node-rank
    std::optional<std::int32_t> last;     ///< its group rank in the round before
    bool survivor = false;      ///< was in the round before and stayed: keeps `last` before returning nodes get theirs
    std::uint64_t arrival = 0;  ///< order of nodes with the same name
    std::vector<WorkerBlock> blocks{{}};
};

struct Placement {
    std::int32_t group_rank = 0;
    std::int32_t world_size = 0;
    RankLayout ranks;
};

struct Placements {
    std::vector<Placement> of;  ///< in the order of the requests
    std::string warning;        ///< two nodes claimed one rank; else empty
};

/// Assigns group ranks 0 to n-1, in this order: 1. claimed ranks below n; 2. survivors keep their ranks; 3. returning
/// nodes get theirs; 4. claimants of ranks >= n, ascending; 5. the rest by scheduler key, else by host name. Two claims
/// of one rank void all claims. Workers are numbered through the contexts, and within a context in the order of the
/// group ranks; role ranks count through the contexts of one role.
[[nodiscard]] Placements place(const std::vector<RankRequest>& requests);

}  // namespace dlaunch::rendezvous
