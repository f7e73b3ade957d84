#pragma once
/// The agent of one node: carries out a plan, from the first worker to the report.

#include "agent/plan.hpp"
#include "agent/process/guard.hpp"

namespace dlaunch::agent {

/// Runs the job and returns dlaunch's exit status. Takes over the process: its signals, limits and stderr. At most one
/// call per process.
[[nodiscard]] int run_agent(const Plan& plan, GuardLink link);

}  // namespace dlaunch::agent
