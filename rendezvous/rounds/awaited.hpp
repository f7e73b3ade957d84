#pragma once
/// The nodes of a predecessor, spares among them, that may still come to its successor. No I/O, no clock.

#include <algorithm>
#include <cstddef>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class Awaited {
public:
    /// `nodes`: as many as the predecessor knew of; 0: unknown. One that has not come until then looks no longer for
    /// the job, or has been replaced.
    void begin(Time until, std::size_t nodes) {
        until_ = until;
        nodes_ = nodes;
    }
    void extend(Time until) { until_ = std::max(until_, until); }
    /// A node that a predecessor had welcomed.
    void came() { ++came_; }

    [[nodiscard]] bool any(Time now) const { return now < until_ && (nodes_ == 0 || came_ < nodes_); }
    /// Nodes of the predecessor, where some are still awaited.
    [[nodiscard]] std::size_t nodes(Time now) const { return any(now) ? nodes_ : 0; }
    [[nodiscard]] Time until() const { return until_; }

private:
    Time until_{};
    std::size_t nodes_ = 0, came_ = 0;
};

}  // namespace dlaunch::rendezvous
