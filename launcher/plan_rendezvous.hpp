#pragma once
/// Where the job's nodes meet, and how long they wait for each other.

#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

/// Completes the plan, whose sizes and addresses are set already.
[[nodiscard]] base::Result<void> plan_rendezvous(const Settings& settings, const Deps& deps,
                                                 agent::RendezvousPlan& plan);

}  // namespace dlaunch::launcher
