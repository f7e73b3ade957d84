#pragma once
/// The workers of a node by context, and their ranks in a round. Plain data; wire/rounds.hpp encodes it.
///
/// A context is a program of the job with its number of workers (mpiexec's `a : b`). Global ranks count through the
/// contexts in order, and within a context through the nodes; local ranks count through the contexts of one node. So
/// the ranks of a node are contiguous within a context only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::rendezvous {

inline constexpr std::size_t kMostContexts = 1024;  ///< of a job: a message holds a block of each

/// The workers of one context on one node.
struct WorkerBlock {
    std::int32_t appnum = 0;  ///< place of the context among the job's contexts
    std::int32_t count = 1;   ///< workers
    std::string role;
    bool operator==(const WorkerBlock&) const = default;
};

struct RankRange {
    std::int32_t first = 0, count = 0;
    bool operator==(const RankRange&) const = default;
};

using RankRanges = std::vector<RankRange>;

/// Number of ranks in the ranges.
[[nodiscard]] std::int64_t count_of(const RankRanges& ranges);

/// Ascending; adjacent ranges are one.
[[nodiscard]] RankRanges ranges_of(std::vector<std::int32_t> ranks);
/// Adds `others` to `ranges`, which stay ascending.
void unite(RankRanges& ranges, const RankRanges& others);
[[nodiscard]] std::vector<std::int32_t> ranks_of(const RankRanges& ranges);

/// The ranks of one block.
struct RankBlock {
    std::int32_t count = 1;
    std::int32_t first_rank = 0;
    std::int32_t first_role_rank = 0, role_world_size = 1;
    bool operator==(const RankBlock&) const = default;
};

/// The ranks of a node's workers in one round: a block per context of the node, in the order of the contexts.
struct RankLayout {
    std::vector<RankBlock> blocks;

    /// LOCAL_WORLD_SIZE.
    [[nodiscard]] std::int32_t workers() const;
    /// Global rank. Throws std::out_of_range unless `local_rank` is below workers(), as the next two do.
    [[nodiscard]] std::int32_t rank(std::int32_t local_rank) const;
    [[nodiscard]] std::int32_t role_rank(std::int32_t local_rank) const;
    [[nodiscard]] std::int32_t role_world_size(std::int32_t local_rank) const;
    /// All ranks, ascending; adjacent blocks are one range.
    [[nodiscard]] std::vector<RankRange> ranges() const;
    /// The same for users: "0,3-5".
    [[nodiscard]] std::string text() const;

    bool operator==(const RankLayout&) const = default;

private:
    struct Place {
        const RankBlock& block;
        std::int32_t offset;
    };
    [[nodiscard]] Place find(std::int32_t local_rank) const;
};

}  // namespace dlaunch::rendezvous
