/// The properties that every schedule must keep.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

// --- properties -----------------------------------------------------------------------------------------------------

void Simulation::check_round(const Assigned& told, std::size_t at) {
    const Round key{told.stamp.epoch, told.stamp.round};
    const int round = told.stamp.round;
    for (std::size_t other = 0; other < agents_.size(); ++other) {
        const Workers& workers = agents_[other].workers;
        if (workers.alive && (workers.round != key || other == at || workers.group_rank == told.group_rank))
            violated("overlap", fmt::format("node{} starts round {} while workers of round {} live on node{}", at,
                                            round, workers.round.second, other));
    }
    auto& all = rounds_[key];
    if (!all.emplace(told.group_rank, told).second)
        violated("ranks", fmt::format("round {}: group rank {} was given twice", round, told.group_rank));
    const Assigned& first = all.begin()->second;
    if (told.group_rank < 0 || told.group_rank >= told.group_world_size ||
        told.group_world_size != first.group_world_size || told.world_size != first.world_size ||
        told.restart_count != first.restart_count || told.master_addr != first.master_addr ||
        told.master_port != first.master_port)
        violated("ranks", fmt::format("round {}: nodes were told different things", round));
    if (told.group_world_size < options_.min_nodes || told.group_world_size > options_.max_nodes)
        violated("ranks", fmt::format("round {} has {} nodes", round, told.group_world_size));
    for (auto left = all.begin(), right = std::next(left); right != all.end(); left = right++)
        if (right->first == left->first + 1
                ? right->second.first_rank != left->second.first_rank + left->second.local_world_size
                : right->second.first_rank <= left->second.first_rank)
            violated("ranks", fmt::format("round {}: ranks of nodes {} and {} do not follow each other", round,
                                          left->first, right->first));
    const auto failures = static_cast<int>(std::distance(failed_rounds_.begin(), failed_rounds_.lower_bound(key)));
    const bool nothing_else = tally_.faults.empty() && options_.min_nodes == options_.max_nodes;
    if (told.restart_count > options_.restarts.max_restarts || told.restart_count > failures ||
        (nothing_else && told.restart_count != failures))
        violated("budget", fmt::format("round {} is restart {}, after {} rounds with failures", round,
                                       told.restart_count, failures));
}

void Simulation::check_end() {
    if (verdict_ && !verdict_->verdict.records.empty()) {
        const auto& verdict = verdict_->verdict;
        const bool injected = std::any_of(records_.begin(), records_.end(), [&](const auto& round) {
            return round.second.contains(verdict.records.front());
        });
        if (!injected || verdict.status == 0)
            violated("verdict",
                     fmt::format("{} with \"{}\", which no failure was", verdict.status, verdict.records.front()));
    }
    if (verdict_ && verdict_->verdict.status == 0) {
        const auto& last = *rounds_.rbegin();
        for (int rank = 0; rank < last.second.begin()->second.group_world_size; ++rank) {
            const auto placed = placed_[last.first].find(rank);
            const bool has_left = placed != placed_[last.first].end() && agents_[placed->second].left;
            if (!succeeded_[last.first].contains(rank) && !has_left)
                violated("verdict", "the job ended well and not all workers had");
        }
    }
    for (std::size_t at = 0; at < agents_.size(); ++at) {
        const Agent& agent = agents_[at];
        if (agent.dead || !agent.status || agent.left || agent.disturbed || coordinator_disturbed_) continue;
        const bool late = !agent.admitted;
        if (!verdict_)
            violated("verdict", fmt::format("node{} ended with {} before the job", at, *agent.status));
        else if (!late && *agent.status != verdict_->verdict.status)
            violated("verdict",
                     fmt::format("node{} ended with {}, the job with {}", at, *agent.status, verdict_->verdict.status));
        else if (late && *agent.status != verdict_->verdict.status && *agent.status != 83 && *agent.status != 80)
            violated("verdict", fmt::format("node{} came late and ended with {}", at, *agent.status));
    }
}

}  // namespace dlaunch::rendezvous::simulation
