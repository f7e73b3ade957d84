#pragma once

#include "agent/process/guard.hpp"
#include "launcher/start/front_plan.hpp"

namespace dlaunch::launcher {

/// Starts an agent on every host, hosts the coordinator, shows the output of all nodes, passes signals on, and prints
/// the report. Returns the job's exit status. Agents hold a lease on this process: if it dies, nothing lives on.
[[nodiscard]] int run_front_end(const FrontPlan& plan, agent::GuardLink link);

}  // namespace dlaunch::launcher
