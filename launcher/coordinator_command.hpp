#pragma once
/// `dlaunch coordinator`: a job's coordinator on a node without workers.

#include <string>
#include <vector>

#include "agent/process/guard.hpp"

namespace dlaunch::launcher {

/// Runs in the child of the guard, and has it start the coordinator's process; returns the child's exit status. The
/// guard stays until the job is over. Where another node has the coordinator, waits as its standby.
[[nodiscard]] int run_coordinator(const std::vector<std::string>& arguments, agent::GuardLink& link);

/// Runs in the coordinator's process: as run_coordinator_process(), with the job's report at the end.
[[nodiscard]] int run_reporting_coordinator(const base::CoordinatorSeat& seat);

}  // namespace dlaunch::launcher
