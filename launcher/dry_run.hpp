#pragma once
/// --dry-run: the plan as JSON. Starts nothing, makes nothing.

#include <string>

#include "agent/plan.hpp"
#include "launcher/deps.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// An error only when a binding was asked for and the topology is unknown.
[[nodiscard]] base::Result<std::string> dry_run(const agent::Plan& plan, const Deps& deps);

}  // namespace dlaunch::launcher
