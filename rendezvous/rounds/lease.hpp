#pragma once
/// The times around a node's lease, all derived from the job's node time-out T. The coordinator evicts a node T after
/// the node's last message. The node must have killed its workers by then, so it fences itself one margin earlier. The
/// margin covers the duration of a kill (a large CUDA context, dirty pages) and different clock rates.

#include <algorithm>
#include <cstddef>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

/// Below this value the margin of 1 s would exceed half of T.
inline constexpr Milliseconds kLeastNodeTimeout{2'000};

/// max(0.2 T, 1 s), at most T/2 (for a T below the limit for users).
[[nodiscard]] constexpr Milliseconds fence_margin(Milliseconds node_timeout) {
    return std::min(std::max(node_timeout / 5, Milliseconds(1'000)), node_timeout / 2);
}

/// Lifetime of workers, counted from the sending of the latest answered beat.
[[nodiscard]] constexpr Milliseconds member_lease(Milliseconds node_timeout) {
    return node_timeout - fence_margin(node_timeout);
}

/// The guard kills the workers of a stalled agent a little later than the agent would.
[[nodiscard]] constexpr Milliseconds guard_lease(Milliseconds node_timeout) {
    return member_lease(node_timeout) + fence_margin(node_timeout) / 4;
}

/// The shortest and the longest pause between two beats; a member adds up to a quarter. For T = 5 s: 0.8 s to 1.8 s.
[[nodiscard]] constexpr Milliseconds least_pause(Milliseconds node_timeout) {
    return std::max(member_lease(node_timeout) / 5, Milliseconds(1));
}
[[nodiscard]] constexpr Milliseconds most_pause(Milliseconds node_timeout) {
    return std::max(member_lease(node_timeout) * 9 / 20, Milliseconds(1));
}

/// With very many members the pause grows, which bounds the beats that a coordinator receives to 25,000 a second, as
/// Nomad's max_heartbeats_per_second does. A lost beat then costs more of a lease: no pause is longer than
/// most_pause().
[[nodiscard]] constexpr Milliseconds beat_pause(Milliseconds node_timeout, std::size_t members) {
    constexpr std::size_t kBeatsPerSecond = 25'000;
    const auto wanted = Milliseconds(members * 1000 * 8 / 9 / kBeatsPerSecond);
    return std::clamp(wanted, least_pause(node_timeout), most_pause(node_timeout));
}

/// Silence after which a member redials, while its lease still lasts.
[[nodiscard]] constexpr Milliseconds redial_silence(Milliseconds node_timeout) {
    return member_lease(node_timeout) / 2;
}

}  // namespace dlaunch::rendezvous
