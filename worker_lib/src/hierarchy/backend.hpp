#pragma once

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker::hierarchy {

/// Joins the group's other ranks, which are on several hosts: shared memory on each, Gloo between them. Throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const Place& place, const std::vector<Member>& members,
                                                    const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker::hierarchy
