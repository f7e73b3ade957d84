#pragma once
/// What SLURM tells about a job's nodes. Texts in, values out.

#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A node list as SLURM writes it, in its order: "node[01-03,7],login" is node01 node02 node03 node7 login. At most
/// 65536 names.
[[nodiscard]] base::Result<std::vector<std::string>> expand_node_list(std::string_view text);

}  // namespace dlaunch::launcher
