#pragma once
/// No number of a round is used twice, whatever coordinators came before. No I/O, no clock.

#include <algorithm>
#include <cstdint>

namespace dlaunch::rendezvous {

class RoundNumbers {
public:
    /// A number that a node knows.
    void reported(std::int32_t round) { highest_reported_ = std::max(highest_reported_, round); }
    /// A predecessor's round, which may not be its latest one where `is_complete` is false.
    void adopt(std::int32_t round, bool is_complete) {
        latest_ = round;
        complete_ = is_complete;
    }
    /// A predecessor may have begun a round that no member here knows.
    std::int32_t begin() {
        latest_ = std::max(latest_, highest_reported_) + (complete_ ? 1 : 2);
        complete_ = true;
        return latest_;
    }

    [[nodiscard]] std::int32_t latest() const { return latest_; }
    /// This coordinator knows of every round that was begun.
    [[nodiscard]] bool complete() const { return complete_; }

private:
    std::int32_t latest_ = -1, highest_reported_ = -1;
    bool complete_ = true;
};

}  // namespace dlaunch::rendezvous
