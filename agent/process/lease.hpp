#pragma once
/// Until when this node's workers may live, in memory that the agent shares with its guard. The agent grants the time,
/// as the coordinator grants it to the node; when it is over the guard ends the workers, because an agent that is
/// awake would have done so itself.
///
/// One word, and every change of it is a compare and exchange: a grant that comes late finds that the guard was
/// faster, and a guard that wakes late finds that it was granted more. Nothing is queued, so nothing arrives late.

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
        begun,   ///< nothing was granted before: the guard must look
        fenced,  ///< the guard has ended the workers, or is about to
    };
    [[nodiscard]] Grant grant(base::Time until);
    /// No worker lives. Waits at most `deadline` while the guard is ending them: what starts next is not to be hit.
    void lift(base::Duration deadline);
    /// The guard has ended the workers since the last lift().
    [[nodiscard]] bool fenced() const { return word_.load() < 0; }

    // --- the guard's side
    /// When to look again; kNever: nothing is granted.
    [[nodiscard]] base::Time due() const;
    /// True: the time is over, and now the workers are the caller's to end. ended() must follow.
    [[nodiscard]] bool expire(base::Time now);
    /// Until ended() or the agent's lift(), which may have lost its patience.
    [[nodiscard]] bool is_ending() const { return word_.load() == kEnding; }
    void ended();

private:
    static constexpr std::int64_t kNobody = 0, kEnding = -1, kEnded = -2;  // else the time, in its clock's ticks

    std::atomic<std::int64_t> word_ = kNobody;
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // it is between processes
};

}  // namespace dlaunch::agent
