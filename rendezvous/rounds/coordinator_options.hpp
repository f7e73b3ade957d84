#pragma once
/// Start parameters of a coordinator.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/job.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

/// Hosts that have not joined yet.
enum class MoreHosts : std::uint8_t {
    possible,  ///< any host may join at any time
    awaited,   ///< a front end starts each host once, and not all of them have joined or failed
    none,      ///< all of them have
};

/// Chooses the first cause from the records of all nodes, where none of them has a clear one.
using Judge = std::function<std::optional<Cause>(const Verdict& of, bool one_console)>;

struct CoordinatorOptions : JobConfig {
    std::string version, job_id;
    std::string host;           ///< name of the coordinator's node
    std::string role, program;  ///< of the first context of the coordinator's node
    std::uint64_t epoch = 1;    ///< higher than any earlier coordinator's of this job
    std::uint64_t incarnation = 0;
    bool succeeds = false;                    ///< another coordinator of this job may have served before
    std::optional<Snapshot> snapshot;         ///< the latest Record of that coordinator, if known
    Milliseconds first_progress{3'000};       ///< until the first line about missing nodes
    Milliseconds progress{10'000};            ///< between two of them
    std::string place;                        ///< for these lines: where this coordinator listens, for which nodes
    std::vector<std::string> expected_hosts;  ///< if they are known
    MoreHosts more_hosts = MoreHosts::possible;
    bool one_console = false;  ///< what a worker prints is on the screen of all nodes
    Judge judge{};             ///< empty: the nodes' strongest choice counts
};

}  // namespace dlaunch::rendezvous
