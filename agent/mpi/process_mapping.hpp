#pragma once

#include <string>
#include <vector>

namespace dlaunch::agent {

/// The value of PMI_process_mapping, from which MPICH learns the node of each rank: "(vector,(0,2,4),(2,1,3))" means
/// nodes 0 and 1 with four consecutive ranks each, then node 2 with three. `nodes` holds each rank's node.
[[nodiscard]] std::string process_mapping(const std::vector<int>& nodes);

}  // namespace dlaunch::agent
