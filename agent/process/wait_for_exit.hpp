#pragma once

#include <sys/types.h>

#include <chrono>

namespace dlaunch::agent {

/// Waits until this child has exited, for `patience` at most. Does not reap it. 0: no child. For the guard, which has
/// no loop.
void wait_for_exit(pid_t child, std::chrono::milliseconds patience);

}  // namespace dlaunch::agent
