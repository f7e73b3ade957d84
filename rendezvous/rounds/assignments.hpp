#pragma once
/// The assignment of each node of a round: its ranks, and the store that group rank 0 serves. A pure function.

#include <string>
#include <vector>

#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

struct Assignments {
    std::vector<Assigned> of;  ///< in the order of the nodes
    std::string warning;       ///< two nodes claimed one rank; else empty
};

/// `common`: the fields that are equal on all nodes.
[[nodiscard]] Assignments assign_ranks(const std::vector<Node*>& nodes, const Assigned& common, const JobConfig& job);

}  // namespace dlaunch::rendezvous
