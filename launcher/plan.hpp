#pragma once
/// Settings and a look at the machine -> what the agent is to do.

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// `program` is the program's name and its arguments. Errors name the option or variable that is to blame.
/// Things that are odd but allowed are added to `warnings`.
[[nodiscard]] base::Result<agent::Plan> make_plan(const Settings& settings, const std::vector<std::string>& program,
                                                  const Deps& deps, std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
