#pragma once
/// Parses SLURM's description of a job's nodes. No I/O.

#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Expands a node list in order: "node[01-03,7],login" is node01 node02 node03 node7 login. At most 65536 names
/// of at most 255 bytes each.
[[nodiscard]] base::Result<std::vector<std::string>> expand_node_list(std::string_view text);

}  // namespace dlaunch::launcher
