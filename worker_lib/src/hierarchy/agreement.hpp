#pragma once
/// How every call begins: all ranks learn whether they call the same, and small ones are done by the way.

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

/// Throws the same Error (mismatch) on all ranks. `whole` is what the call is to carry out (another type than `call`'s
/// where sums are kept wider). True: it is done.
[[nodiscard]] bool agree(Levels& levels, const Call& call, const Call& whole, const std::string& group);

// --- reductions by two levels: on the host, then over the hosts' results, then what comes at the end -----------------

[[nodiscard]] ReduceOp on_host(ReduceOp op);
[[nodiscard]] ReduceOp between_hosts(ReduceOp op);
/// Divides, where the operation is an average.
void finish(const Call& call, int ranks, std::byte* data, std::size_t count);

}  // namespace dlaunch::worker::hierarchy
