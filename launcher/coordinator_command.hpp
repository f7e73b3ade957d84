#pragma once
/// `dlaunch coordinator`: a job's coordinator on a node without workers.

#include <string>
#include <vector>

#include "agent/process/guard.hpp"

namespace dlaunch::launcher {

/// Runs in the guard's child, and makes the guard start the coordinator process; returns the child's exit status. The
/// guard stays until the job is over. While another node hosts the coordinator, waits as a standby.
[[nodiscard]] int run_coordinator(const std::vector<std::string>& arguments, agent::GuardLink& link);

/// Runs in the coordinator process: run_coordinator_process(), then prints the job's report.
[[nodiscard]] int run_reporting_coordinator(const base::CoordinatorSeat& seat);

}  // namespace dlaunch::launcher
