#pragma once
/// Which members of a predecessor's round have come to its successor, and until when the others may. No I/O, no clock.

#include <algorithm>
#include <cstddef>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class Adoption {
public:
    /// A member that has not come by then has fenced itself.
    void begin(Time until) { until_ = until; }
    void extend(Time until) { until_ = std::max(until_, until); }
    /// The coordinator stood still for `gap`.
    void excuse(Time::duration gap) {
        if (until_ != kNever) until_ += gap;
    }
    void came() { ++came_; }
    /// A later round than the known one has begun: none of its members has come.
    void begin_again() { came_ = 0; }
    /// All have come, or no more can.
    void end() { until_ = kNever; }

    /// Leavers and lost ones among them.
    [[nodiscard]] std::size_t count() const { return came_; }
    [[nodiscard]] bool is_open(Time now) const { return until_ != kNever && now < until_; }
    [[nodiscard]] bool has_timed_out(Time now) const { return now >= until_; }
    /// kNever: no member is awaited.
    [[nodiscard]] Time until() const { return until_; }

private:
    Time until_ = kNever;
    std::size_t came_ = 0;
};

}  // namespace dlaunch::rendezvous
