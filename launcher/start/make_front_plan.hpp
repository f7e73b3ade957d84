#pragma once

#include <string>
#include <vector>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"
#include "launcher/plan.hpp"
#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Whether the options ask for agents on other hosts: --hosts (of any context), --hostfile, --host-discovery-script, a
/// choice among hosts, or --launcher on the command line.
[[nodiscard]] bool starts_nodes(const std::vector<ContextRequest>& contexts);

/// `contexts` is never empty. Reads the hostfile.
[[nodiscard]] base::Result<FrontPlan> make_front_plan(const std::vector<ContextRequest>& contexts, const Deps& deps,
                                                      std::vector<std::string>& warnings);

/// The options that nodes get, as words, of the job or of a context: all but those that choose and start nodes, and
/// those of files that only the front end writes.
[[nodiscard]] std::vector<std::string> words_for_nodes(const std::vector<OptionUse>& uses, bool of_context);

}  // namespace dlaunch::launcher
