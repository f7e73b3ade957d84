#pragma once
/// How a membership has the job's coordinator started on its node.

#include <functional>
#include <vector>

#include "agent/process/guard.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/coordinate/job.hpp"

namespace dlaunch::agent {

/// With the sockets that listen already, at least one.
using HostCoordinator =
    std::function<base::Result<void>(const rendezvous::CoordinatorJob& job, std::vector<store::Listener> listeners)>;

/// In a process of its own, a child of the guard. `only`: the caller exits next, and the guard stays for the
/// coordinator.
[[nodiscard]] base::Result<void> host_in_guard(GuardLink& guard, const rendezvous::CoordinatorJob& job,
                                               const std::vector<store::Listener>& listeners, bool only = false);

}  // namespace dlaunch::agent
