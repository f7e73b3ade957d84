#pragma once
/// The start of every call: all ranks compare their signatures; data of small calls travels with the signatures.

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

/// Throws the same Error (mismatch) on all ranks. `whole` is the call to execute; it differs from the program's `call`
/// in the type if sums are accumulated in a wider one. True: the data fitted in and the call is complete.
[[nodiscard]] bool agree(Levels& levels, const Call& call, const Call& whole, const GroupInfo& group);

// --- the parts of a two-level reduction ------------------------------------------------------------------------------

/// The operation among a host's ranks, then among the hosts' results.
[[nodiscard]] ReduceOp on_host(ReduceOp op);
[[nodiscard]] ReduceOp between_hosts(ReduceOp op);
/// The final step: divides by the number of ranks if the operation is an average.
void finish(const Call& call, int ranks, std::byte* data, std::size_t count);

}  // namespace dlaunch::worker::hierarchy
