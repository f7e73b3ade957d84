#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace dlaunch::agent {

/// Starts a child process that removes folders with all that is in them, and the shared memory of MPI on request
/// (/dev/shm), so that a disk that does not answer blocks only the child, which continues when the disk answers, also
/// without its parent. Returns its pid; 0: there is nothing to remove, or fork(2) failed. For processes without
/// threads.
[[nodiscard]] pid_t begin_to_remove(const std::vector<std::string>& folders, bool with_shared_memory);

}  // namespace dlaunch::agent
