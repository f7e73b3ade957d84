#pragma once
/// MPI programs behind another one: `env ./solver`, `sh -c "./solver in.dat"`, a shell script. --mpi=auto does not look
/// there, because a script may run anything; a warning needs the names of what it may run. No I/O.

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::launcher {

/// Most names that are looked up.
constexpr std::size_t kMostWrapped = 32;

/// Names that a command line may run besides its first: the arguments of a wrapper (env(1), numactl(8), a shell with -c
/// and the like) and the words of `script`, the text of a shell script that the command line starts. Empty where one of
/// them is a launcher, which gives its own processes their ranks.
[[nodiscard]] std::vector<std::string> names_behind(const std::vector<std::string>& command, std::string_view script);

}  // namespace dlaunch::launcher
