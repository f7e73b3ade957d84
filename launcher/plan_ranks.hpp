#pragma once
/// Options that name global ranks, where the number of workers is known.

#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// `contexts`: with their workers on all nodes. An error if --stdin names a rank that does not exist.
[[nodiscard]] base::Result<void> check_stdin(const Settings& settings, const std::vector<agent::Context>& contexts);
/// Adds a warning for each --wrap with a rank that no worker of its context has, which has no effect, and for a
/// debugger of a rank that gets no input.
void check_wraps(const agent::StdinPlan& input, const std::vector<agent::Context>& contexts,
                 std::vector<std::string>& warnings);
/// The ranks that read standard input, for --dry-run: "none", "all" (also of a single worker), "rank 3".
[[nodiscard]] std::string standard_input_text(const agent::Plan& plan);

}  // namespace dlaunch::launcher
