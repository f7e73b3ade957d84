#pragma once

#include <string>
#include <vector>

namespace dlaunch::launcher {

/// `dlaunch backends`: prints what the worker library's backends can do, and which can be used on this machine. Returns
/// the exit status.
[[nodiscard]] int run_backends(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
