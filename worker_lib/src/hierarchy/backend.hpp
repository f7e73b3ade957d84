#pragma once

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker::hierarchy {

/// Connects to the group's ranks on several hosts: shared memory within a host, Gloo between hosts. Throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupInfo& group, const std::vector<Member>& members,
                                                    const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker::hierarchy
