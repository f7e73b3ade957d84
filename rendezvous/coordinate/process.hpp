#pragma once
/// The coordinator process, forked by its guard. Runs until the job is over, or until it loses its claim; then the
/// guard or another node starts a successor.

#include <functional>

#include "rendezvous/base/coordinator_seat.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// Called in the coordinator process at the end of the job, when every node has received the verdict.
using OnVerdict = std::function<void(const Verdict&)>;

/// Returns the process's exit status: base::CoordinatorExit. SIGTERM and SIGINT must be blocked.
[[nodiscard]] int run_coordinator_process(const base::CoordinatorSeat& seat, const OnVerdict& on_verdict = nullptr);

}  // namespace dlaunch::rendezvous
