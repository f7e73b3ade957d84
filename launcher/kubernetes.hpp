#pragma once
/// The index of a pod in an indexed Job of Kubernetes. No I/O.

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"

namespace dlaunch::launcher {

/// JOB_COMPLETION_INDEX is the node rank of a job of several nodes, unless the user gave one. An index that is no rank
/// of the job, as that of a spare, only orders the nodes.
void apply_completion_index(const agent::Host& host, Settings& settings);

}  // namespace dlaunch::launcher
