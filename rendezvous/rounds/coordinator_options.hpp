#pragma once
/// Start parameters of a coordinator.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

struct CoordinatorOptions : JobConfig {
    std::string version, job_id;
    std::string host;           ///< name of the coordinator's node
    std::string role, program;  ///< of the first context of the coordinator's node
    std::uint64_t epoch = 1;    ///< higher than any earlier coordinator's of this job
    std::uint64_t incarnation = 0;
    bool succeeds = false;                    ///< another coordinator of this job may have served before
    std::optional<Snapshot> snapshot;         ///< the latest Record of that coordinator, if known
    Milliseconds progress{10'000};            ///< between two lines about missing nodes
    std::vector<std::string> expected_hosts;  ///< if they are known
    bool is_closed = false;                   ///< no further host joins: a front end starts each host once
};

}  // namespace dlaunch::rendezvous
