#pragma once
/// The time until which this node's workers may live, in memory shared by agent and guard. The agent extends the lease
/// whenever the coordinator extends the node's lease. When the lease runs out, the guard kills the workers: a frozen
/// agent has not done so.
///
/// The state is one atomic word, changed by compare-and-exchange only. A late grant() finds the lease fenced, and a
/// late guard finds the lease extended. Nothing is queued, so nothing arrives late.

#include <atomic>
#include <cstdint>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class Lease {
public:
    static constexpr base::Time kNever = base::Time::max();

    // --- the agent's side
    enum class Grant : std::uint8_t {
        renewed,
        begun,   ///< there was no lease: the guard must be notified
        fenced,  ///< the guard has killed the workers, or is about to
    };
    [[nodiscard]] Grant grant(base::Time until);
    /// Ends the lease when no worker lives. Waits up to `deadline` while the guard is killing, so that the guard does
    /// not kill the next workers.
    void lift(base::Duration deadline);
    /// The guard has begun to kill the workers since the last lift().
    [[nodiscard]] bool fenced() const { return word_.load() < 0; }

    // --- the guard's side
    /// The end of the lease; kNever: there is none.
    [[nodiscard]] base::Time due() const;
    /// True: the lease has run out, and the caller must kill the workers, then call ended().
    [[nodiscard]] bool expire(base::Time now);
    /// True until ended(), or until the agent's lift() has timed out.
    [[nodiscard]] bool is_ending() const { return word_.load() == kEnding; }
    void ended();

private:
    static constexpr std::int64_t kNoLease = 0, kEnding = -1, kEnded = -2;  // else the end, in ticks of base::Clock

    std::atomic<std::int64_t> word_ = kNoLease;
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // shared by processes
};

}  // namespace dlaunch::agent
