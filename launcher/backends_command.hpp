#pragma once

#include <string>
#include <vector>

namespace dlaunch::launcher {

/// `dlaunch backends`: prints the operations of the worker library's backends, and which of them this machine supports.
/// Returns the exit status.
[[nodiscard]] int run_backends(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
