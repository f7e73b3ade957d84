#pragma once
/// Which node is assigned which rank in a round. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::rendezvous {

/// Whether `left` comes before `right` as people count: node2 before node10. Digits are compared as numbers.
[[nodiscard]] bool natural_less(std::string_view left, std::string_view right);

/// A node that takes part in the round.
struct Seat {
    std::string host;
    std::string order_key;                ///< a scheduler's order; used where every node has one
    std::optional<std::int32_t> claimed;  ///< --node-rank
    std::optional<std::int32_t> last;     ///< its group rank in the round before
    bool survivor = false;  ///< was in the round before and stayed: it keeps `last`, and a node that returns does not
    std::uint64_t arrival = 0;  ///< decides between nodes of one name
    std::int32_t slots = 1;
    std::string role;
};

struct Placement {
    std::int32_t group_rank = 0;
    std::int32_t first_rank = 0, world_size = 0;
    std::int32_t first_role_rank = 0, role_world_size = 0;
};

struct Placements {
    std::vector<Placement> of;  ///< in the order of the seats
    std::string warning;        ///< two nodes claimed one rank; else empty
};

/// Group ranks 0 to n-1, each once. A claimed rank below n is given to its claimant; then survivors keep theirs, then
/// nodes that return; holes are filled by claimants of a rank that does not exist (in its order), then in order
/// of the scheduler's keys, else of host names. When two claim one rank, no claim counts.
[[nodiscard]] Placements place(const std::vector<Seat>& seats);

}  // namespace dlaunch::rendezvous
