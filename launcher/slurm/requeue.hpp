#pragma once
/// The command that has SLURM requeue a job. No I/O.

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Empty if another task of the step runs it. An error outside of SLURM.
[[nodiscard]] base::Result<std::vector<std::string>> requeue_command(const agent::Host& host);

}  // namespace dlaunch::launcher
