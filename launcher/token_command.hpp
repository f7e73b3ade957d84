#pragma once
#include <string>
#include <vector>

namespace dlaunch::launcher {

/// `dlaunch token FILE`: makes a token file. `arguments` are those after "token". Returns the exit status.
[[nodiscard]] int run_token(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
