#pragma once
/// What each node of a round is assigned: its ranks, and the store that group rank 0 serves. A pure function.

#include <string>
#include <vector>

#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

struct Assignments {
    std::vector<Assigned> of;  ///< in the order of the nodes
    std::string warning;       ///< two nodes claimed one rank; else empty
};

/// `common`: what all nodes are assigned alike.
[[nodiscard]] Assignments assign_ranks(const std::vector<Node*>& nodes, const Assigned& common, const JobConfig& job);

}  // namespace dlaunch::rendezvous
