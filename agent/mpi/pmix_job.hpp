#pragma once
/// The parameters of a PMIx server in a round.

#include <string>
#include <vector>

#include "agent/mpi/pmix_message.hpp"
#include "agent/mpi/world.hpp"

namespace dlaunch::agent {

struct PmixJob {
    std::string space;   ///< name of the round's namespace, the same on all nodes
    std::string folder;  ///< for session files of server and ranks; the server makes it
    std::string memory;  ///< for files of shared memory, likewise
    MpiWorld world;
};

[[nodiscard]] PmixMessage to_message(const PmixJob& job);
[[nodiscard]] PmixJob to_job(const PmixMessage& message);

/// A name for each node of the world: its host's, with the group rank appended where a host has several agents. These
/// are nodes of their own: the ranks of two PMIx servers cannot share memory.
[[nodiscard]] std::vector<std::string> node_names(const MpiWorld& world);

/// PMIx's list of the ranks of each node: "0,1;2,3".
[[nodiscard]] std::string ranks_by_node(const MpiWorld& world);

/// The ranks of one node, by local rank.
[[nodiscard]] std::vector<int> ranks_of(const NodeRanks& node);

}  // namespace dlaunch::agent
