#pragma once
/// Coalesced calls on host memory: many small arrays in one call of the backend.

#include <functional>

#include "worker_lib/src/core/call.hpp"

namespace dlaunch::worker {

/// The most bytes that are copied together. A longer array is a call of its own, without a copy.
inline constexpr std::size_t kMaxCoalescedBytes = std::size_t{1} << 20;

/// Carries out a call in pieces as few calls of one array each, which `run` is called with in turn. The division
/// depends on the pieces' lengths only, which are equal on all ranks or end the first call with a mismatch.
void coalesce(const Call& call, const std::function<void(Call& batch)>& run);

}  // namespace dlaunch::worker
