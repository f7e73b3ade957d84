#pragma once

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// One warning for each option of the command line without effect in this plan, for each unknown name in
/// --log-line-prefix-template and each misspelt variable. Options in variables and in the file of --config may serve
/// several jobs: they cause none. `starts_hosts`: the plan is a front end's.
void warn_without_effect(const Settings& settings, const agent::Plan& plan, const Deps& deps, bool starts_hosts,
                         std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
