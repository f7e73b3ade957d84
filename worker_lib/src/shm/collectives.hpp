#pragma once
/// The collectives on one host. The algorithms are described in the source files. Each function returns when this
/// rank's part of the call is done, and throws Error.

#include "worker_lib/src/shm/exchange.hpp"

namespace dlaunch::worker::shm {

void barrier(Exchange& exchange, const Call& call);
void broadcast(Exchange& exchange, const Call& call);
void reduce(Exchange& exchange, const Call& call);
void all_reduce(Exchange& exchange, const Call& call);
void gather(Exchange& exchange, const Call& call);
void scatter(Exchange& exchange, const Call& call);
void all_gather(Exchange& exchange, const Call& call);
void reduce_scatter(Exchange& exchange, const Call& call);
void all_to_all(Exchange& exchange, const Call& call);
void scan(Exchange& exchange, const Call& call);
void exscan(Exchange& exchange, const Call& call);

// --- shared helpers -------------------------------------------------------------------------------------------------

/// Copies bytes; `to` and `from` may be equal.
void copy_bytes(void* to, const void* from, std::size_t bytes);

/// A partition of `count` elements into one slice per rank; every slice of numbers begins on a cache line.
struct Slices {
    Slices(std::size_t elements, int ranks, std::size_t element_bytes);
    [[nodiscard]] std::size_t begin(int rank) const { return std::min(count, each * static_cast<std::size_t>(rank)); }
    [[nodiscard]] std::size_t end(int rank) const { return begin(rank + 1); }
    [[nodiscard]] std::size_t size(int rank) const { return end(rank) - begin(rank); }
    std::size_t count, each;
};

/// Capacity of one half in bytes per rank, if it holds one piece for each rank; whole cache lines.
[[nodiscard]] std::size_t piece_bytes(const Exchange& exchange);

/// Offset of each rank's block in the concatenated buffer, in bytes; the last entry is the total.
[[nodiscard]] std::vector<std::size_t> offsets(const Call& call, int ranks);

/// Number of epochs to transfer the longest block in pieces of `each` bytes; at least one, because a call without
/// elements synchronizes too.
[[nodiscard]] std::size_t rounds(const Call& call, int ranks, std::size_t each);

/// Size of the intersection of [at, at + most) with [0, count).
[[nodiscard]] inline std::size_t clip(std::size_t count, std::size_t at, std::size_t most) {
    return at >= count ? 0 : std::min(most, count - at);
}

}  // namespace dlaunch::worker::shm
