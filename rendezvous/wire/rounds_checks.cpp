#include "rendezvous/wire/rounds_checks.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "rendezvous/wire/rounds_fields.hpp"

namespace dlaunch::wire {
namespace {

bool within(std::int32_t value, std::int32_t low, std::int32_t high) { return value >= low && value <= high; }
bool is_place(std::int32_t value, std::int32_t count) { return value >= 0 && value < count; }

bool sane(const r::LostRanks& m) {
    return std::all_of(m.begin(), m.end(), [](const r::RankRange& range) {
        return range.first >= 0 && within(range.count, 1, kMostWorkers) && range.first <= INT32_MAX - range.count;
    });
}
bool sane(const r::RankOutcomes& m) { return sane(m.stopped) && sane(m.finished) && sane(m.outlived); }
bool sane(const r::RestartCounters& m) { return m.used >= 0 && m.quick_in_a_row >= 0 && m.alike_in_a_row >= 0; }
bool sane(const r::JobProgress& m) { return sane(m.restarts) && within(m.first_group_size, 0, kMostWorkers); }
bool sane(const r::JobConfig& m) {
    return within(m.min_nodes, 1, kMostWorkers) && within(m.max_nodes, m.min_nodes, kMostWorkers) &&
           m.node_timeout >= std::chrono::milliseconds(1) && m.node_timeout <= std::chrono::hours(24) &&
           m.restarts.max_restarts >= 0 && m.restarts.crash_loop >= 0 && m.scale_up <= r::ScaleUp::never &&
           within(m.master_port.value_or(0), 0, 65'535);
}
bool sane(const r::RunningRound& m) {
    return m.group_world_size <= kMostWorkers && is_place(m.group_rank, m.group_world_size) &&
           m.age <= std::chrono::hours(24);
}
bool sane(const std::vector<r::WorkerBlock>& blocks) {
    std::int32_t latest = -1, workers = 0;
    for (const r::WorkerBlock& block : blocks) {
        if (!within(block.appnum, latest + 1, kMostWorkers) || !within(block.count, 1, kMostWorkers - workers))
            return false;
        latest = block.appnum;
        workers += block.count;
    }
    return workers > 0;
}
bool sane(const r::RankLayout& m, std::int32_t world_size) {
    std::int32_t end = 0, workers = 0;  // ranks ascend from block to block
    for (const r::RankBlock& block : m.blocks) {
        if (!within(block.count, 1, kMostWorkers - workers) || block.count > world_size ||
            !within(block.first_rank, end, world_size - block.count) || block.role_world_size < block.count ||
            !within(block.first_role_rank, 0, block.role_world_size - block.count))
            return false;
        end = block.first_rank + block.count;
        workers += block.count;
    }
    return workers > 0;
}

}  // namespace

bool sane(const r::Report& m) {
    return m.phase <= r::Report::Phase::over && sane(m.outcomes) && (!m.cause || sane(m.cause->lost)) &&
           within(m.store_port, 0, 65'535) && within(m.jax_port, 0, 65'535);
}
bool sane(const r::Standbys& m) {
    return std::ranges::all_of(m.places, [](const r::StandbyPlace& place) { return within(place.port, 1, 65'535); });
}
bool sane(const r::StopRound& m) { return sane(m.lost) && within(m.signal, 0, SIGRTMAX); }
bool sane(const r::Leave& m) { return m.scope <= r::Leave::Scope::job; }
bool sane(const r::Welcome& m) { return sane(m.job); }
bool sane(const r::Snapshot& m) {
    return sane(m.config) && sane(m.progress) && m.round >= -1 && within(m.group_size, 0, kMostWorkers) &&
           within(m.nodes, 0, kMostWorkers);
}
bool sane(const r::Join& m) {
    return (!m.running || sane(*m.running)) && (!m.own_config || sane(*m.own_config)) && (!m.job || sane(*m.job)) &&
           (!m.progress || sane(*m.progress)) && m.latest_round < INT32_MAX - kMostWorkers &&
           m.stamp.round <= m.latest_round && !m.record.id.empty() && within(m.record.store_port, 0, 65'535) &&
           within(m.record.jax_port, 0, 65'535) && within(m.record.standby_port, 0, 65'535) && sane(m.record.blocks) &&
           m.record.node_rank.value_or(0) >= 0;
}
bool sane(const r::Assigned& m) {
    return is_place(m.group_rank, m.group_world_size) && sane(m.ranks, m.world_size) &&
           within(m.master_port, 0, 65'535) && within(m.jax_port, 0, 65'535) && sane(m.progress);
}

}  // namespace dlaunch::wire
