#pragma once
/// Translation of calls to NCCL's functions.

#include <span>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// False for reductions that NCCL lacks: bitwise ones, those of int16, uint16, bool and complex numbers, and averages
/// of 8-bit integers.
[[nodiscard]] bool is_native(const Call& call);

/// A communicator with its stream, and this rank's position in it.
struct Channel {
    const NcclTable& table;
    Comm comm;
    Stream stream;
    int rank, ranks;
};

/// Issues a call on device memory: a native reduction or data movement. A barrier reduces the byte at `in`.
[[nodiscard]] Result issue(const Channel& channel, const Call& call);
/// Issues all messages in one NCCL group, so that their order does not matter.
[[nodiscard]] Result issue(const Channel& channel, std::span<const Transfer> transfers);
/// The first half of a reduction that NCCL lacks: gathers all ranks' inputs for this rank's part of the result in
/// `gathered`, in rank order.
[[nodiscard]] Result issue_inputs(const Channel& channel, const Call& call, std::byte* gathered);
/// Number of elements of each of these inputs.
[[nodiscard]] std::size_t part_of(const Call& call, int rank);

}  // namespace dlaunch::worker::nccl
