#pragma once
/// Counts the members of the predecessor's round that have joined this coordinator, and holds the deadline for the
/// missing members. No I/O, no clock.

#include <algorithm>
#include <cstddef>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class Adoption {
public:
    /// A member that has not joined by `until` has fenced itself.
    void begin(Time until) { until_ = until; }
    void extend(Time until) { until_ = std::max(until_, until); }
    /// The coordinator was stalled for `gap`.
    void excuse(Time::duration gap) {
        if (until_ != kNever) until_ += gap;
    }
    void joined() { ++joined_; }
    /// A later round than the known one has begun; none of its members has joined.
    void begin_again() { joined_ = 0; }
    /// All have joined, or the deadline is over.
    void end() { until_ = kNever; }

    /// Includes members that have left or been evicted since.
    [[nodiscard]] std::size_t count() const { return joined_; }
    [[nodiscard]] bool is_open(Time now) const { return until_ != kNever && now < until_; }
    [[nodiscard]] bool has_timed_out(Time now) const { return now >= until_; }
    /// kNever: no member is expected.
    [[nodiscard]] Time until() const { return until_; }

private:
    Time until_ = kNever;
    std::size_t joined_ = 0;
};

}  // namespace dlaunch::rendezvous
