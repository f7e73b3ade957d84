#pragma once
/// The times around a node's lease, all derived from the job's node time-out T. The coordinator counts on a silent node
/// being gone T after its last message, so the node must have killed its workers before: it fences itself one margin
/// earlier. The margin is what a kill may take (a large CUDA context, dirty pages) and what clocks may differ in rate.

#include <algorithm>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

/// Below it the margin would leave no time to run.
inline constexpr Milliseconds kLeastNodeTimeout{2'000};

/// max(0.2 T, 1 s); half of a T that is shorter than any user may ask for.
[[nodiscard]] constexpr Milliseconds fence_margin(Milliseconds node_timeout) {
    return std::min(std::max(node_timeout / 5, Milliseconds(1'000)), node_timeout / 2);
}

/// How long workers may live after the youngest beat that was answered had been sent.
[[nodiscard]] constexpr Milliseconds member_lease(Milliseconds node_timeout) {
    return node_timeout - fence_margin(node_timeout);
}

/// The guard of an agent that stands still kills a little later than the agent would.
[[nodiscard]] constexpr Milliseconds guard_lease(Milliseconds node_timeout) {
    return member_lease(node_timeout) + fence_margin(node_timeout) / 4;
}

/// T/5 from 5 s on.
[[nodiscard]] constexpr Milliseconds beat_interval(Milliseconds node_timeout) {
    return std::max(member_lease(node_timeout) / 4, Milliseconds(1));
}

/// Without any message for so long a member dials again, while there is time for that.
[[nodiscard]] constexpr Milliseconds redial_silence(Milliseconds node_timeout) {
    return member_lease(node_timeout) / 2;
}

}  // namespace dlaunch::rendezvous
