#pragma once
/// Nodes of the predecessor, spares included, that may still join its successor. No I/O, no clock.

#include <algorithm>
#include <cstddef>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class ExpectedNodes {
public:
    /// `nodes`: number of nodes that the predecessor knew; 0: unknown. The coordinator waits for them until `until`.
    void begin(Time until, std::size_t nodes) {
        until_ = until;
        nodes_ = nodes;
    }
    void extend(Time until) { until_ = std::max(until_, until); }
    /// A node that the predecessor knew has joined.
    void joined() { ++joined_; }

    [[nodiscard]] bool any(Time now) const { return now < until_ && (nodes_ == 0 || joined_ < nodes_); }
    /// Number of the predecessor's nodes; 0 if none is expected any more.
    [[nodiscard]] std::size_t nodes(Time now) const { return any(now) ? nodes_ : 0; }
    [[nodiscard]] Time until() const { return until_; }

private:
    Time until_{};
    std::size_t nodes_ = 0, joined_ = 0;
};

}  // namespace dlaunch::rendezvous
