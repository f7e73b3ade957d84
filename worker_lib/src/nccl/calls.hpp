#pragma once
/// Calls as NCCL knows them.

#include <span>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// Whether NCCL has the reduction: no bitwise ones, and none of int16, uint16 and bool. All else it has.
[[nodiscard]] bool is_native(const Call& call);

/// Elements that this rank reads from `in` and writes to `out`.
struct Extent {
    std::size_t in = 0, out = 0;
};
[[nodiscard]] Extent extent(const Call& call, int rank, int ranks);

/// A communicator, and this rank's place in it.
struct Lane {
    const NcclTable& table;
    Comm comm;
    Stream stream;
    int rank, ranks;
};

/// Gives a call on device memory to the stream; what is native, or moves only. A barrier reduces the byte at `in`.
[[nodiscard]] Result issue(const Lane& lane, const Call& call);
/// All messages in one group, so that they need no order.
[[nodiscard]] Result issue(const Lane& lane, std::span<const Transfer> transfers);
/// The first half of a reduction that NCCL has not: everybody's part of what this rank shall combine, one after the
/// other by rank, into `gathered`.
[[nodiscard]] Result issue_inputs(const Lane& lane, const Call& call, std::byte* gathered);
/// Elements of each of these parts.
[[nodiscard]] std::size_t part_of(const Call& call, int rank);

}  // namespace dlaunch::worker::nccl
