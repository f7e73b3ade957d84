#pragma once
/// The coordinator process, forked by its guard. Runs until the job is over, or until it loses its claim; then the
/// guard or another node starts a successor.

#include <functional>

#include "rendezvous/base/coordinator_seat.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/coordinator_options.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// Called in the coordinator process at the end of the job, when every node has received the verdict. `lasted`: since
/// this node began to host the job's coordinator.
using OnEnd = std::function<void(const Snapshot& record, Time::duration lasted)>;

/// Returns the process's exit status: base::CoordinatorExit. SIGTERM and SIGINT must be blocked.
[[nodiscard]] int run_coordinator_process(const base::CoordinatorSeat& seat, const Judge& judge,
                                          const OnEnd& on_end = nullptr);

}  // namespace dlaunch::rendezvous
