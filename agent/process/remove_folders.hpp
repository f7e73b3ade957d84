#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace dlaunch::agent {

/// Starts a child process that removes folders of plain files, so that a disk that does not answer blocks only the
/// child. Returns its pid; 0: there are no folders, or fork(2) failed. For processes without threads.
[[nodiscard]] pid_t begin_to_remove(const std::vector<std::string>& folders);

/// Waits until this child has exited, for `patience` at most. Does not reap it, and does not kill it: a child that a
/// disk blocks continues when the disk answers, also without its parent.
void wait_for_exit(pid_t child, std::chrono::milliseconds patience);

}  // namespace dlaunch::agent
