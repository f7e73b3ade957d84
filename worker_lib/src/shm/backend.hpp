#pragma once

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker::shm {

/// Joins the group's other ranks, which all must be on this host; throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const Place& place, const std::vector<Member>& members,
                                                    const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker::shm
