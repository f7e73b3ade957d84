#pragma once
/// The coordinator in a process of its own, as its guard forks it. Runs until the job is over, or until it may not go
/// on: then exits, and its guard or another node has the next one.

#include <functional>

#include "rendezvous/base/coordinator_seat.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// Called at the end of the job, in the coordinator process, when every node has received the verdict.
using OnVerdict = std::function<void(const Verdict&)>;

/// Returns the process's exit status: base::CoordinatorExit. SIGTERM and SIGINT must be blocked.
[[nodiscard]] int run_coordinator_process(const base::CoordinatorSeat& seat, const OnVerdict& on_verdict = nullptr);

}  // namespace dlaunch::rendezvous
