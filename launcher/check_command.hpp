#pragma once

#include <string>
#include <vector>

namespace dlaunch::launcher {

/// `dlaunch check`: prints which address of this node the others would be told, why, and who answers at the endpoint.
/// Returns the exit status: 0 when the job could meet here.
[[nodiscard]] int run_check(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
