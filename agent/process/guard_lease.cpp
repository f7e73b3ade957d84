#include "agent/process/guard_lease.hpp"

#include <poll.h>

namespace dlaunch::agent {

Lease::Grant Lease::grant(base::Time until) {
    for (std::int64_t now = word_.load(); now >= 0;)
        if (word_.compare_exchange_weak(now, until.time_since_epoch().count()))
            return now == kNoLease ? Grant::begun : Grant::renewed;
    return Grant::fenced;
}

void Lease::lift(base::Duration deadline) {
    const base::Time end = base::Clock::now() + deadline;
    while (word_.load() == kEnding && base::Clock::now() < end) poll(nullptr, 0, 1);
    word_.store(kNoLease);
}

base::Time Lease::due() const {
    const std::int64_t until = word_.load();
    return until > 0 ? base::Time(base::Duration(until)) : kNever;
}

bool Lease::expire(base::Time now) {
    std::int64_t until = word_.load();
    return until > 0 && base::Time(base::Duration(until)) <= now && word_.compare_exchange_strong(until, kEnding);
}

void Lease::ended() {
    std::int64_t ending = kEnding;
    word_.compare_exchange_strong(ending, kEnded);
}

}  // namespace dlaunch::agent
