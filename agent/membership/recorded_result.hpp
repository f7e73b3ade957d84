#pragma once
/// The result of a job from its coordinator's record, for processes without workers: the coordinator and the front end.

#include <optional>
#include <vector>

#include "agent/errors/report.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::agent {

/// The failures of all nodes in the job's verdict, first cause first.
[[nodiscard]] std::vector<Failure> failures_of(const rendezvous::Verdict& verdict);

/// None: the outcomes are not known.
[[nodiscard]] std::optional<OtherRanks> others_of(const rendezvous::RankOutcomes& outcomes);

/// The caller adds the job's id and duration. Without a verdict: the rounds and restarts so far.
[[nodiscard]] JobResult recorded_result(const rendezvous::Snapshot& record);

}  // namespace dlaunch::agent
