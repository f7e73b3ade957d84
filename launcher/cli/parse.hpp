#pragma once
/// CLI11's part: the chosen mentions -> settings.

#include <vector>

#include "launcher/cli/settings.hpp"

namespace dlaunch::launcher {

/// Of several mentions of one option the last counts, unless it is repeatable; all of them must be right.
[[nodiscard]] base::Result<Settings> parse(const std::vector<Given>& mentions);

}  // namespace dlaunch::launcher
