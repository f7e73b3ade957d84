#pragma once
/// The agent of one node: carries a plan out from its first worker to its report.

#include "agent/plan.hpp"
#include "agent/process/guard.hpp"

namespace dlaunch::agent {

/// Runs the job and returns the status dlaunch ends with. Owns the process: signals, limits, stderr. One call a
/// process.
[[nodiscard]] int run_agent(const Plan& plan, GuardLink link);

}  // namespace dlaunch::agent
