#pragma once
/// A fixed time-out for connections, the earliest deadline first. No I/O and no clock.

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

    /// Starts or restarts the connection's time-out.
    void start(Slot slot, base::Time now);
    /// Cancels it.
    void stop(Slot slot);

    /// Connections past their deadline. Their time-outs have been cancelled.
    [[nodiscard]] std::vector<Slot> overdue(base::Time now);
    /// The earliest deadline, if any.
    [[nodiscard]] std::optional<base::Time> next() const;

private:
    struct Entry {
        Slot slot;
        base::Time due;
    };
    using Entries = std::list<Entry>;

    const base::Duration patience_;
    Entries running_;                        // by due time
    std::vector<Entries::iterator> places_;  // by slot; running_.end(): no time-out
};

}  // namespace dlaunch::store
