#pragma once
/// Which token a job has.

#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"
#include "rendezvous/auth/token.hpp"

namespace dlaunch::launcher {

/// Whether --no-token keeps the job open. What is typed counts more than a variable; an error if neither counts more.
[[nodiscard]] base::Result<bool> has_no_token(const Settings& settings);

/// None with --no-token, else that of --token-file, else of DLAUNCH_TOKEN_FILE, else of DLAUNCH_TOKEN; null: none is
/// given. An error names the file or the variable. A node of a front end has the token that its agent has received.
[[nodiscard]] base::Result<auth::TokenPtr> job_token(const Settings& settings, const Deps& deps);

/// Gives the plan its token. Workers inherit neither variable.
[[nodiscard]] base::Result<void> plan_token(const Settings& settings, const Deps& deps, agent::Plan& plan);

}  // namespace dlaunch::launcher
