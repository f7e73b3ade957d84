#pragma once

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker::shm {

/// Connects to the group's other ranks, all of which must be on this host; throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupInfo& group, const std::vector<Member>& members,
                                                    const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker::shm
