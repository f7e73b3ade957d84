#pragma once
/// Round numbers, unique across all coordinators of the job. No I/O, no clock.

#include <algorithm>
#include <cstdint>

namespace dlaunch::rendezvous {

class RoundNumbers {
public:
    /// A joining node has reported this number.
    void reported(std::int32_t round) { highest_reported_ = std::max(highest_reported_, round); }
    /// A predecessor's round. `is_complete` is false if the predecessor may have started a later one.
    void adopt(std::int32_t round, bool is_complete) {
        latest_ = round;
        complete_ = is_complete;
    }
    /// Skips a number if a predecessor may have started a round that no member has reported.
    std::int32_t begin() {
        latest_ = std::max(latest_, highest_reported_) + (complete_ ? 1 : 2);
        complete_ = true;
        return latest_;
    }

    [[nodiscard]] std::int32_t latest() const { return latest_; }
    /// Whether latest() is the latest round that any coordinator has started.
    [[nodiscard]] bool complete() const { return complete_; }

private:
    std::int32_t latest_ = -1, highest_reported_ = -1;
    bool complete_ = true;
};

}  // namespace dlaunch::rendezvous
