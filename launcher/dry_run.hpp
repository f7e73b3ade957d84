#pragma once
/// --dry-run: the plan as JSON. Starts and creates nothing.

#include <string>

#include "agent/plan.hpp"
#include "launcher/deps.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// An error only if --bind is given and the topology is unknown.
[[nodiscard]] base::Result<std::string> dry_run(const agent::Plan& plan, const Deps& deps);

}  // namespace dlaunch::launcher
