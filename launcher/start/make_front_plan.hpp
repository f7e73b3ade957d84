#pragma once

#include <string>
#include <vector>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"
#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Whether the options ask for agents on other hosts: --hosts, --hostfile, --launcher, --host-discovery-script.
[[nodiscard]] bool starts_nodes(const Settings& settings);

/// `uses`: the options of the job, from all sources. Reads the hostfile.
[[nodiscard]] base::Result<FrontPlan> make_front_plan(const Settings& settings, const std::vector<OptionUse>& uses,
                                                      const std::vector<std::string>& program, const Deps& deps);

/// The options of the job that its nodes get, as words: all but those that choose and start nodes, and those of files
/// that only the front end writes.
[[nodiscard]] std::vector<std::string> words_for_nodes(const std::vector<OptionUse>& uses);

}  // namespace dlaunch::launcher
