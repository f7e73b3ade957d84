#pragma once
/// Connections that must have done something within a fixed time, the oldest first. No I/O and no clock.

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/store/core/slot.hpp"

namespace dlaunch::store {

class Deadlines {
public:
    explicit Deadlines(base::Duration patience) : patience_(patience) {}

    /// The connection's time begins; again, where it had begun.
    void start(Slot slot, base::Time now);
    /// The connection has done it, or is gone.
    void stop(Slot slot);

    /// Connections whose time is over. They have been stopped.
    [[nodiscard]] std::vector<Slot> overdue(base::Time now);
    /// When to ask again; none while no time runs.
    [[nodiscard]] std::optional<base::Time> next() const;

private:
    struct Entry {
        Slot slot;
        base::Time due;
    };
    using Entries = std::list<Entry>;

    const base::Duration patience_;
    Entries running_;                        // by due time
    std::vector<Entries::iterator> places_;  // by slot; running_.end(): no time runs
};

}  // namespace dlaunch::store
