#pragma once
/// Several tasks of a scheduler on one node: the first is the agent. The other tasks wait for its end, and exit with
/// the status of its guard.

#include "agent/plan.hpp"
#include "agent/process/guard.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// In the agent's task: lets the other tasks wait for this task's guard. The guard of a restarted agent has the socket
/// already.
[[nodiscard]] base::Result<void> share_status(const TaskPlan& tasks, GuardLink& link);

/// In another task. Returns dlaunch's exit status. A signal ends the wait for the agent's start; later only a second
/// one does, because schedulers signal all tasks, and the agent's end follows.
[[nodiscard]] int run_waiting_task(const TaskPlan& task, GuardLink link);

}  // namespace dlaunch::agent
