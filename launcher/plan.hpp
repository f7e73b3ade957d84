#pragma once
/// Turns settings and facts about the machine into the agent's plan.

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// One context of the command line.
struct ContextRequest {
    Settings settings;                 ///< in the first context also those of the job
    std::vector<std::string> program;  ///< name and arguments
    std::vector<OptionUse> uses{};     ///< from which `settings` was made
};

/// `contexts` is never empty. Errors name the wrong option or variable. Odd but valid settings add to `warnings`.
[[nodiscard]] base::Result<agent::Plan> make_plan(const std::vector<ContextRequest>& contexts, const Deps& deps,
                                                  std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
