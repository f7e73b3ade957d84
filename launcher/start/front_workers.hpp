#pragma once
/// The workers of all hosts, for the report of a front end. No I/O.

#include <vector>

#include "agent/errors/report.hpp"
#include "agent/process/front_notice.hpp"
#include "launcher/start/front_node.hpp"

namespace dlaunch::launcher {

/// `notice` is of kind `worker`. The first one of a round replaces all of an earlier round.
void note_worker(const agent::FrontNotice& notice, NodeWorkers& of);

/// The workers of the job's last round, by rank, without those of nodes that left earlier.
[[nodiscard]] std::vector<agent::WorkerResult> workers_of(const std::vector<NodeState>& nodes);

}  // namespace dlaunch::launcher
