#pragma once
/// State shared by a guard and the coordinator process that it forks. The guard keeps the descriptors for as long as
/// the job needs a coordinator, so that a successor serves the same sockets and reads the latest snapshot.

#include <atomic>
#include <cstdint>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

/// In memory shared by both processes.
struct CoordinatorPage {
    /// In ticks of base::Clock. The guard replaces a coordinator that does not extend this time.
    std::atomic<std::int64_t> alive_until{0};
    std::atomic<bool> is_over{false};  ///< the verdict is recorded; its delivery may continue
    std::atomic<bool> hands_over{
        false};                  ///< on SIGTERM the process releases its claim, so that another node takes over
    std::atomic<int> status{0};  ///< exit status of the verdict
    std::atomic<bool> no_more_hosts{false};  ///< all hosts of a front end have joined or failed
    /// Time of the request of the latest renewal of the claim, in ticks of base::Clock; 0: none has succeeded. A
    /// successor must not claim again if the claim has been lost for long.
    std::atomic<std::int64_t> claim_asked{0};
    /// Exit status of a process that has no work left; -1: none yet. Its exit may last as long as a call on an
    /// unresponsive disk does.
    std::atomic<int> exits_with{-1};
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

/// Exit statuses of a coordinator process. After any other exit the guard starts a successor.
struct CoordinatorExit {
    static constexpr int kOver = 0;
    static constexpr int kGivenUp = 3;  ///< the claim is lost or handed over, or the process cannot serve
};

}  // namespace dlaunch::base
