#pragma once
/// Making one child process: the part between fork and its function.

#include <functional>
#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker {

struct Child {
    int pid = -1;
    base::UniqueFd process;  ///< a pidfd
    base::UniqueFd error;    ///< a file in memory that holds what its exception said
};

/// A copy of this process that runs `work` and ends: with 0, or with 1 after what was thrown.
[[nodiscard]] Child fork_child(const std::function<void()>& work);
/// This program anew, told to run the registered function `name`; see run_if_spawned().
[[nodiscard]] Child exec_child(const std::string& name, int index, const std::vector<std::string>& args);

/// Runs `work` as a child does, and ends the process.
[[noreturn]] void run_child(int error_fd, const std::function<void()>& work);

/// Why nobody knows how a child ended.
inline constexpr const char* kStatusTaken =
    "its exit status was taken: this process ignores SIGCHLD, or waits for any child";
inline constexpr const char* kSpawnVariable = "DLAUNCH_SPAWN";  ///< "INDEX FD NAME"

}  // namespace dlaunch::worker
