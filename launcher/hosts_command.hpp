#pragma once
/// `dlaunch hosts`: expands host lists, or folds names into one.

#include <string>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// The text that the command prints. `arguments` are those after "hosts".
[[nodiscard]] base::Result<std::string> hosts_text(const std::vector<std::string>& arguments);

/// Prints it; returns the exit status.
int run_hosts(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
