#pragma once
/// The collectives on one host; each file says how. They return when this rank is done, or throw.

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

// --- what several of them need --------------------------------------------------------------------------------------

/// Copies between buffers that may be one.
void copy_bytes(void* to, const void* from, std::size_t bytes);

/// The slices of `count` elements, one per rank: all begin on a cache line.
struct Slices {
    Slices(std::size_t elements, int ranks, std::size_t element_bytes);
    [[nodiscard]] std::size_t begin(int rank) const { return std::min(count, each * static_cast<std::size_t>(rank)); }
    [[nodiscard]] std::size_t end(int rank) const { return begin(rank + 1); }
    [[nodiscard]] std::size_t size(int rank) const { return end(rank) - begin(rank); }
    std::size_t count, each;
};

/// How many elements for each of the ranks fit into one half, side by side; whole cache lines.
[[nodiscard]] std::size_t piece_elements(const Exchange& exchange, std::size_t element_bytes);

/// Where each rank's part begins in the whole, in elements; one more at the end.
[[nodiscard]] std::vector<std::size_t> offsets(const Call& call, int ranks);

/// How often `each` goes into the longest part, at least once: a call without elements meets too.
[[nodiscard]] std::size_t rounds(const Call& call, int ranks, std::size_t each);

/// The part [at, at + most) of `count` elements that exists.
[[nodiscard]] inline std::size_t clip(std::size_t count, std::size_t at, std::size_t most) {
    return at >= count ? 0 : std::min(most, count - at);
}

}  // namespace dlaunch::worker::shm
