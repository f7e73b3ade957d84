#pragma once

#include <chrono>
#include <utility>

namespace dlaunch::worker {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// This long from now. For ever is a century: it can be reckoned with.
template <class Rep, class Period>
[[nodiscard]] Time after(std::chrono::duration<Rep, Period> duration) {
    constexpr std::chrono::hours kForEver(24 * 365 * 100);
    if (duration > kForEver) return Clock::now() + kForEver;
    return duration > duration.zero() ? Clock::now() + duration : Clock::now();
}

/// A point in time, or a while from when somebody first asks: many a call takes less time than a look at the clock, and
/// asks only when it has to wait. One thread at a time.
class Deadline {
public:
    Deadline() = default;
    Deadline(Time at) : at_(at) {}  // NOLINT(google-explicit-constructor): it is one
    /// Of no duration at all: long ago.
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
