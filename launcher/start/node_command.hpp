#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// Runs a dlaunch in this process, which becomes its guard, and returns its exit status.
using RunJob = std::function<int(std::span<char* const> argv, const StartedNode& node)>;

/// `dlaunch agent`: started on a node by a front end, which sends the command line. `arguments` follow the word agent.
/// Returns the exit status.
[[nodiscard]] int run_node_agent(const std::vector<std::string>& arguments, const RunJob& run_job);

}  // namespace dlaunch::launcher
