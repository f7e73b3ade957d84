#pragma once
/// Finds signals that reach a process twice because their sender signals several processes, of which one passes its
/// signals on. No clock.

#include <chrono>
#include <map>

#include "rendezvous/base/time.hpp"

namespace dlaunch::agent {

class SignalCopies {
public:
    static constexpr auto kWithin = std::chrono::milliseconds(500);

    /// Whether the same signal has come by another way within kWithin, and had no copy yet.
    [[nodiscard]] bool is_copy(int number, int way, base::Time now) {
        const auto earlier = singles_.find(number);
        if (earlier != singles_.end() && earlier->second.way != way && now - earlier->second.at < kWithin) {
            singles_.erase(earlier);
            return true;
        }
        singles_[number] = {now, way};
        return false;
    }

private:
    struct Single {
        base::Time at;
        int way;
    };
    std::map<int, Single> singles_;  ///< by number: received by one way, not yet by the other
};

}  // namespace dlaunch::agent
