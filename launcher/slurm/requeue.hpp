#pragma once
/// The commands that have SLURM requeue a job. No I/O.

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Empty if another task of the step runs them. An error outside of SLURM.
[[nodiscard]] base::Result<agent::RequeuePlan> requeue_commands(const agent::Host& host);

}  // namespace dlaunch::launcher
