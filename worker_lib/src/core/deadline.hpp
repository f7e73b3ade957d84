#pragma once

#include <chrono>
#include <utility>

namespace dlaunch::worker {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// Now plus `duration`. Longer durations are cut to a century so that arithmetic on the result cannot overflow.
template <class Rep, class Period>
[[nodiscard]] Time after(std::chrono::duration<Rep, Period> duration) {
    constexpr std::chrono::hours kForEver(24 * 365 * 100);
    if (duration > kForEver) return Clock::now() + kForEver;
    return duration > duration.zero() ? Clock::now() + duration : Clock::now();
}

/// A point in time, or a duration that starts with the first at(). Short calls finish without reading the clock; calls
/// that wait read it once. Not thread-safe.
class Deadline {
public:
    Deadline() = default;
    Deadline(Time at) : at_(at) {}  // NOLINT(google-explicit-constructor): a Time is a Deadline
    /// A zero or negative duration has passed already.
    explicit Deadline(std::chrono::milliseconds duration) : left_(duration) {}

    [[nodiscard]] Time at() const {
        if (left_ > left_.zero()) at_ = after(std::exchange(left_, left_.zero()));
        return at_;
    }

private:
    mutable Time at_{};
    mutable std::chrono::milliseconds left_{};
};

}  // namespace dlaunch::worker
