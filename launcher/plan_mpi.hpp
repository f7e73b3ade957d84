#pragma once
/// --mpi: the protocol by which the job's MPI programs find their ranks.

#include "agent/plan.hpp"
#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Sets the family of all contexts: the named one, or that of the MPI library that their programs are linked with. A
/// program without MPI, as a script that starts one, joins the family of the other programs: its ranks belong to their
/// world. An error if a program is linked with another family. With `none` on the command line several processes of an
/// MPI program run as they would without a launcher, with a warning.
[[nodiscard]] base::Result<void> plan_mpi(const Settings& settings, const Deps& deps, agent::Plan& plan,
                                          std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
