#include "agent/membership/recorded_result.hpp"

#include <iterator>

#include "agent/errors/failure_record.hpp"
#include "agent/errors/first_cause.hpp"

namespace dlaunch::agent {

std::vector<Failure> failures_of(const rendezvous::Verdict& verdict) {
    std::vector<Failure> all;
    for (const std::string& record : verdict.records)
        if (auto failures = unpack_failures(record))
            all.insert(all.end(), std::make_move_iterator(failures->begin()), std::make_move_iterator(failures->end()));
    if (verdict.named_rank >= 0)
        for (Failure& failure : all)
            if (failure.strength == Strength::lost_peer && failure.lost_ranks.empty() &&
                failure.rank != verdict.named_rank)
                failure.lost_ranks = {verdict.named_rank};
    put_first_cause_first(all, rendezvous::count_of(verdict.outcomes.finished));
    drop_early_exits(all);
    return all;
}

std::optional<OtherRanks> others_of(const rendezvous::RankOutcomes& outcomes) {
    if (outcomes == rendezvous::RankOutcomes{}) return std::nullopt;
    return OtherRanks{ranks_of(outcomes.stopped), ranks_of(outcomes.finished), ranks_of(outcomes.outlived)};
}

JobResult recorded_result(const rendezvous::Snapshot& record) {
    JobResult end;
    end.rounds = record.round + 1;
    end.restarts = record.progress.restarts.used;
    end.max_restarts = record.config.restarts.max_restarts;
    if (!record.verdict) return end;
    end.exit_status = record.verdict->status;
    end.reason = record.verdict->reason;
    end.failures = failures_of(*record.verdict);
    end.others = others_of(record.verdict->outcomes);
    if (!end.failures.empty()) end.program = end.failures.front().program;
    return end;
}

}  // namespace dlaunch::agent
