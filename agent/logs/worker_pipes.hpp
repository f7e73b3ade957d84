#pragma once

#include "agent/process/window_size.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// One end of each of a worker's two pipes or terminals.
struct OutputEnds {
    base::UniqueFd out, err;
    bool are_terminals = false;
};

struct WorkerPipes {
    OutputEnds readers;  ///< non-blocking
    OutputEnds writers;  ///< blocking, as programs expect
};

/// The same with two pseudo-terminals, so that programs write each line at once. They translate nothing, echo nothing
/// and control no process.
[[nodiscard]] base::Result<WorkerPipes> make_worker_terminals(WindowSize size);
void set_window_size(int terminal, WindowSize size);

/// The pipes behind fds 1 and 2 of a worker. An Error (too many open files) names the limit.
[[nodiscard]] base::Result<WorkerPipes> make_worker_pipes();

}  // namespace dlaunch::agent
