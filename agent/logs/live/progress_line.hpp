#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dlaunch::agent {

/// The state of a job, as its agent knows it.
struct JobProgress {
    int workers = 0, alive = 0;  ///< of this node, in this round
    int restarts = 0, max_restarts = 0;
    int nodes = 0;         ///< of this round; 0: no round has begun
    int wanted_nodes = 1;  ///< the most that the job may have

    friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

/// The longest time without output.
struct Silence {
    std::string ranks;  ///< "rank 1", "ranks 0-3"; empty: none to speak of
    std::chrono::seconds time{0};
};

/// "0:12 | 2 of 3 workers alive | restart 1 of 3 | rank 1 silent for 5 s | 1 of 2 nodes", of at most `columns`. The
/// last parts are left out where there is no space. No I/O.
[[nodiscard]] std::string progress_line(const JobProgress& job, std::chrono::seconds elapsed, const Silence& silence,
                                        std::size_t columns);

}  // namespace dlaunch::agent
