#pragma once
/// Processes by descriptor, which unlike a pid is never reused: pidfd_open(2), pidfd_send_signal(2).

#include <sys/types.h>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// None, with errno, if there is no such process, no descriptor is left or a seccomp filter refuses the call.
[[nodiscard]] base::UniqueFd open_pidfd(pid_t pid);

/// Signals the process of `pidfd`. Without a descriptor, or where a seccomp filter refuses the call, by its `pid`.
void send_signal(const base::UniqueFd& pidfd, pid_t pid, int number);

}  // namespace dlaunch::agent
