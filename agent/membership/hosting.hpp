#pragma once
/// Starts the job's coordinator on this node.

#include <functional>
#include <optional>
#include <vector>

#include "agent/process/guard.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/coordinate/job.hpp"

namespace dlaunch::agent {

/// Starts a coordinator at listening sockets, at least one.
using HostCoordinator =
    std::function<base::Result<void>(const rendezvous::CoordinatorJob& job, std::vector<store::Listener> listeners)>;

/// Makes the guard start the coordinator process, and returns its record (record_file.hpp). `only`: the caller exits
/// next, and the guard stays for the coordinator.
[[nodiscard]] base::Result<base::UniqueFd> host_in_guard(GuardLink& guard, const rendezvous::CoordinatorJob& job,
                                                         const std::vector<store::Listener>& listeners,
                                                         bool only = false);

/// The verdict in the record of this node's latest coordinator, which may have exited since.
[[nodiscard]] std::optional<rendezvous::Verdict> recorded_verdict(const GuardLink& guard);

}  // namespace dlaunch::agent
