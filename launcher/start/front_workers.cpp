#include "launcher/start/front_workers.hpp"

#include <algorithm>

namespace dlaunch::launcher {

void note_worker(const agent::FrontNotice& notice, NodeWorkers& of) {
    if (notice.round != of.round) of = {notice.round, {}};
    of.ended.push_back(notice.worker);
}

std::vector<agent::WorkerResult> workers_of(const std::vector<NodeState>& nodes) {
    int last = -1;
    for (const NodeState& node : nodes) last = std::max(last, node.workers.round);
    std::vector<agent::WorkerResult> workers;
    for (const NodeState& node : nodes) {
        if (node.workers.round != last) continue;
        for (const auto& [rank, local_rank, pid, exit_status, rss, user, system, role] : node.workers.ended)
            workers.push_back(
                {rank, local_rank, role.data(), pid, node.plan.host.name, exit_status, {rss, user, system}});
    }
    std::ranges::sort(workers, {}, &agent::WorkerResult::rank);
    return workers;
}

}  // namespace dlaunch::launcher
