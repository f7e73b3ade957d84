#pragma once

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// One warning for each option of the command line from which nothing comes in this plan, and for each unknown name in
/// --log-line-prefix-template. Variables and the file of --config may serve several jobs: of these nothing is said.
/// `starts_hosts`: the plan is a front end's.
void warn_without_effect(const Settings& settings, const agent::Plan& plan, const Deps& deps, bool starts_hosts,
                         std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
