#pragma once
/// The fields of each message, in their order on the wire.

#include <cstdint>
#include <string>

#include "rendezvous/wire/rounds_io.hpp"

namespace dlaunch::wire {

namespace r = rendezvous;

inline constexpr std::int32_t kMostWorkers = 1 << 20;

void fields(auto& a, r::Stamp& m) { a(m.epoch, m.round, m.incarnation); }
void fields(auto& a, r::Hello& m) { a(m.version, m.job_id, m.incarnation); }
void fields(auto& a, r::WorkerBlock& m) { a(m.appnum, m.count, m.role); }
void fields(auto& a, r::NodeRecord& m) {
    List<r::WorkerBlock, r::kMostContexts> blocks{m.blocks};
    a(m.id, m.host, m.address, m.other_address, m.store_port, blocks, m.program, m.order_key, m.node_rank,
      m.hosts_coordinator, m.jax_port, m.standby_port);
}
void fields(auto& a, r::RestartLimits& m) { a(m.max_restarts, m.first, m.most, m.healthy, m.crash_loop); }
void fields(auto& a, r::CooldownLimits& m) { a(m.first, m.most); }
void fields(auto& a, r::JobConfig& m) {
    a(m.min_nodes, m.max_nodes, m.last_call, m.join_timeout, m.node_timeout, m.restarts, m.cooldown, m.scale_up,
      m.fixed_ranks, m.master_addr, m.master_port, m.relays_store);
}
void fields(auto& a, r::RestartCounters& m) { a(m.used, m.quick_in_a_row, m.alike_in_a_row, m.pause, m.kind); }
void fields(auto& a, r::HostLosses& m) {
    List<std::uint32_t, kMaxLosses> ages{m.ages_ms};
    a(m.host, ages, m.cooldown_ms);
}
void fields(auto& a, r::JobProgress& m) {
    List<r::HostLosses, kMaxHosts> losses{m.losses};
    a(m.restarts, m.first_group_size, losses);
}
void fields(auto& a, r::RankRange& m) { a(m.first, m.count); }
void fields(auto& a, r::RankOutcomes& m) {
    List<r::RankRange, kMostWorkers> stopped{m.stopped}, finished{m.finished}, outlived{m.outlived};
    a(stopped, finished, outlived);
}
void fields(auto& a, r::Verdict& m) { a(m.status, m.reason, m.records, m.outcomes, m.named_rank); }
void fields(auto& a, r::PendingStop& m) { a(m.reason, m.excuses, m.lost_host, m.verdict, m.with_causes, m.yields); }
void fields(auto& a, r::Snapshot& m) {
    List<std::int32_t, kMostWorkers> gone{m.gone};
    a(m.epoch, m.config, m.progress, m.round, m.group_size, gone, m.nodes, m.round_over, m.complete, m.restart_reason,
      m.verdict, m.stop);
}
void fields(auto& a, r::RunningRound& m) { a(m.group_rank, m.group_world_size, m.alive, m.age); }
void fields(auto& a, r::GoodbyeHashes& m) { a(m.gone, m.returns); }
void fields(auto& a, r::Join& m) {
    a(m.stamp, m.record, m.last_group_rank, m.running, m.latest_round, m.beat, m.own_config, m.job, m.progress,
      m.coordinator, m.coordinator_host, m.goodbye);
}
void fields(auto& a, r::RankBlock& m) { a(m.count, m.first_rank, m.first_role_rank, m.role_world_size); }
void fields(auto& a, r::RankLayout& m) {
    List<r::RankBlock, r::kMostContexts> blocks{m.blocks};
    a(blocks);
}
void fields(auto& a, r::Cause& m) {
    Record record{m.record};
    List<r::RankRange, r::kMostContexts> lost{m.lost};
    List<std::string, r::Cause::kMostLostHosts> lost_hosts{m.lost_hosts};
    a(m.status, m.kind, m.summary, m.permanent, lost, lost_hosts, m.strength, m.after, m.message, record);
}
void fields(auto& a, r::Report& m) { a(m.stamp, m.phase, m.succeeded, m.store_port, m.jax_port, m.outcomes, m.cause); }
void fields(auto& a, r::Leave& m) { a(m.stamp, m.scope, m.status, m.reason, m.workers_too, m.at_once); }
void fields(auto& a, r::Beat& m) { a(m.stamp, m.number, m.pause); }
void fields(auto& a, r::Welcome& m) { a(m.stamp, m.beat, m.job, m.host); }
void fields(auto& a, r::Refused& m) { a(m.rejoin, m.status, m.reason); }
void fields(auto& a, r::Assigned& m) {
    a(m.stamp, m.group_rank, m.group_world_size, m.world_size, m.ranks, m.master_addr, m.master_port, m.restart_count,
      m.max_restarts, m.restart_reason, m.progress, m.jax_addr, m.jax_port, m.relayed);
}
void fields(auto& a, r::StopRound& m) {
    List<r::RankRange, r::kMostContexts> lost{m.lost};
    a(m.stamp, m.reason, lost, m.at_once, m.signal, m.timed_out, m.unclear, m.for_failure, m.hung);
}
void fields(auto& a, r::Notice& m) { a(m.stamp, m.text, m.about_receiver, m.cause, m.message); }
void fields(auto& a, r::Gone& m) { a(m.returns); }
void fields(auto& a, r::StandbyPlace& m) { a(m.host, m.port); }
void fields(auto& a, r::Standbys& m) {
    List<r::StandbyPlace, r::Standbys::kMost> places{m.places};
    a(m.stamp, places);
}
void fields(auto& a, r::End& m) { a(m.stamp, m.verdict); }

}  // namespace dlaunch::wire
