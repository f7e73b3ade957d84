#pragma once
/// What a guard and the coordinator process that it forks have in common. The guard holds the descriptors for as long
/// as the job needs a coordinator, so that a successor serves the same sockets and knows what was decided.

#include <atomic>
#include <cstdint>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

/// In memory that both processes share.
struct CoordinatorPage {
    /// In ticks of base::Clock. A coordinator that does not extend the time stands still, and is replaced.
    std::atomic<std::int64_t> alive_until{0};
    std::atomic<bool> is_over{false};     ///< the verdict is recorded, and its delivery goes on
    std::atomic<bool> hands_over{false};  ///< SIGTERM makes it give up its claim, for another node to take
    std::atomic<int> status{0};           ///< of the verdict
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);

    void alive(Time until) { alive_until.store(until.time_since_epoch().count()); }
    [[nodiscard]] Time due() const { return Time(Duration(alive_until.load())); }
};

struct CoordinatorSeat {
    static constexpr int kMostListeners = 8;

    int job = -1;     ///< a memory file: coordinate/job.hpp
    int record = -1;  ///< a memory file: coordinate/record_file.hpp
    int listeners[kMostListeners] = {};
    int listener_count = 0;
    std::uint64_t generation = 0;  ///< 0 for the first process in this seat
    CoordinatorPage* page = nullptr;
};

/// How a coordinator process exits. After any other end the guard starts a successor.
struct CoordinatorExit {
    static constexpr int kOver = 0;
    static constexpr int kGivenUp = 3;  ///< its claim is lost or handed over, or it cannot serve
};

}  // namespace dlaunch::base
