#pragma once
/// Creation of a child process, up to the call of its function.

#include <functional>
#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker {

struct Child {
    int pid = -1;
    base::UniqueFd process;  ///< a pidfd
    base::UniqueFd error;    ///< a memfd for the what() of the child's exception
};

/// Forks a child that runs `work` and exits with 0, or with 1 after an exception. Throws Error.
[[nodiscard]] Child fork_child(const std::function<void()>& work);
/// Starts this program again with instructions to run the registered function `name`; see run_if_spawned(). Throws
/// Error.
[[nodiscard]] Child exec_child(const std::string& name, int index, const std::vector<std::string>& args);

/// Runs `work` in the child, stores the text of an exception in error_fd and exits.
[[noreturn]] void run_child(int error_fd, const std::function<void()>& work);

/// Why the exit status of a child is unknown.
inline constexpr const char* kStatusTaken =
    "its exit status was taken: this process ignores SIGCHLD, or waits for any child";
inline constexpr const char* kSpawnVariable = "DLAUNCH_SPAWN";  ///< "INDEX FD NAME"

}  // namespace dlaunch::worker
