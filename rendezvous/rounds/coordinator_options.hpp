#pragma once
/// What a coordinator is started with.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

struct CoordinatorOptions : JobConfig {
    std::string version, job_id;
    std::string host;           ///< its node's name
    std::string role, program;  ///< its node's
    std::uint64_t epoch = 1;    ///< higher than any earlier coordinator's of this job
    std::uint64_t incarnation = 0;
    bool succeeds = false;                    ///< another coordinator of this job may have served before
    std::optional<Snapshot> snapshot;         ///< the latest Record of that one, where it is known
    Milliseconds progress{10'000};            ///< between two lines about missing nodes
    std::vector<std::string> expected_hosts;  ///< where they are known
};

}  // namespace dlaunch::rendezvous
