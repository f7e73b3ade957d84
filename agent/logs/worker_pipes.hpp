#pragma once

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// One end of each of a worker's two pipes.
struct OutputEnds {
    base::UniqueFd out, err;
};

struct WorkerPipes {
    OutputEnds readers;  ///< non-blocking
    OutputEnds writers;  ///< blocking, as programs expect
};

/// The pipes behind fds 1 and 2 of a worker. An Error (too many open files) names the limit.
[[nodiscard]] base::Result<WorkerPipes> make_worker_pipes();

}  // namespace dlaunch::agent
