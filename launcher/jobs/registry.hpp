#pragma once
/// Finds the sockets of this user's agents and front ends on this node, and asks each for its status. There is no
/// daemon: a socket that refuses connections belongs to no process any more.

#include <string>
#include <utility>
#include <vector>

#include "launcher/jobs/running_job.hpp"

namespace dlaunch::launcher {

/// Where jobs register, see agent/services/job_link.hpp.
struct JobPlaces {
    std::string runtime;    ///< $XDG_RUNTIME_DIR; empty: none
    std::string temporary;  ///< $TMPDIR, else /tmp
};

/// As the environment names them; relative paths count from the working folder, as for a job.
[[nodiscard]] JobPlaces places_in(const std::vector<std::pair<std::string, std::string>>& environment);

/// The status of each process that listens, within two seconds. Removes links whose socket is dead.
[[nodiscard]] std::vector<JobProcess> find_processes(const JobPlaces& places);

}  // namespace dlaunch::launcher
