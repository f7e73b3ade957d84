#pragma once
/// dlaunch's options in place of those of mpiexec (Open MPI, MPICH), srun, accelerate and deepspeed.

#include <string_view>

namespace dlaunch::launcher {

/// The sentence for a user who typed this option, "did you mean --env NAME=VALUE?", without its first dashes in
/// `typed`, which has dashes in place of underscores; empty: no such option is known.
[[nodiscard]] std::string_view hint_for_other_launchers(std::string_view typed);

}  // namespace dlaunch::launcher
