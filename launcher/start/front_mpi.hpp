#pragma once

#include <vector>

#include "agent/plan.hpp"
#include "launcher/deps.hpp"
#include "launcher/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// The protocol of the job's MPI programs, which the front end finds for all nodes: a node may have one of the programs
/// alone. None: no program here is an MPI program, and each node looks at its own. `job` is the plan of the first
/// context. An error as plan_mpi()'s.
[[nodiscard]] base::Result<agent::MpiFamily> front_mpi(const std::vector<ContextRequest>& contexts, const Deps& deps,
                                                       const agent::Plan& job);

}  // namespace dlaunch::launcher
