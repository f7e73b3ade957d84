#pragma once
/// Turns settings and facts about the machine into the agent's plan.

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// `program` is the program's name and its arguments. Errors name the wrong option or variable. Odd but valid settings
/// add to `warnings`.
[[nodiscard]] base::Result<agent::Plan> make_plan(const Settings& settings, const std::vector<std::string>& program,
                                                  const Deps& deps, std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
