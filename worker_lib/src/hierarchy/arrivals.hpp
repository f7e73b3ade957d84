#pragma once
/// Who has come to a monitored barrier. No rank sees more than its own host and its rail, so each says in the store
/// that it is there, and who has waited in vain looks there for all that are missing.

#include <vector>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker::hierarchy {

class Arrivals {
public:
    Arrivals(Place place, StoreHandle store) : place_(std::move(place)), store_(std::move(store)) {}

    /// Without the store nobody is told, and the barrier does what it can.
    void come(const Call& call);
    /// The time-out of a call with everybody named who has not come; `late` as it is where that cannot be found out.
    [[nodiscard]] Error name_all(const Call& call, const Error& late) const;

private:
    const Place place_;
    const StoreHandle store_;
};

}  // namespace dlaunch::worker::hierarchy
