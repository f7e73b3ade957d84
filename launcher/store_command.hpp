#pragma once

#include <string>
#include <vector>

namespace dlaunch::launcher {

/// `dlaunch store`: serves a store until SIGTERM or SIGINT. `arguments` are those after "store". Prints the listening
/// address on stdout; returns the exit status. Must run before the process has other threads.
[[nodiscard]] int run_store(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
