#pragma once
/// The members of the predecessor's round that have joined this coordinator, by group rank, and the deadline for the
/// missing members. No I/O, no clock.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

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
    /// The member has joined, or does not come back.
    void accounted_for(std::int32_t group_rank) { ranks_.insert(group_rank); }
    /// A later round than the known one has begun; none of its members has joined.
    void begin_again() { ranks_.clear(); }
    /// All have joined, or the deadline is over.
    void end() { until_ = kNever; }

    /// Includes members that have left or been evicted since.
    [[nodiscard]] std::size_t count() const { return ranks_.size(); }
    [[nodiscard]] bool misses(std::int32_t group_rank) const { return !ranks_.contains(group_rank); }
    [[nodiscard]] bool is_open(Time now) const { return until_ != kNever && now < until_; }
    [[nodiscard]] bool has_timed_out(Time now) const { return now >= until_; }
    /// kNever: no member is expected.
    [[nodiscard]] Time until() const { return until_; }

private:
    Time until_ = kNever;
    std::set<std::int32_t> ranks_;
};

}  // namespace dlaunch::rendezvous
