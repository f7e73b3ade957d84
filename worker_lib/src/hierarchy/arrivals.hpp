#pragma once
/// Arrivals at monitored barriers. A rank observes only its own host and its plane. Therefore each rank records its
/// arrival in the store, and after a time-out of its barrier reads there which ranks are missing.

#include <vector>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker::hierarchy {

class Arrivals {
public:
    Arrivals(GroupInfo group, StoreHandle store) : group_(std::move(group)), store_(std::move(store)) {}

    /// Records this rank's arrival. A failure of the store is ignored; the barrier itself does not depend on it.
    void record(const Call& call);
    /// The time-out Error of a call with all missing ranks named; `late` unchanged if the store does not answer.
    [[nodiscard]] Error name_missing(const Call& call, const Error& late) const;

private:
    const GroupInfo group_;
    const StoreHandle store_;
};

}  // namespace dlaunch::worker::hierarchy
