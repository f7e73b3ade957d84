#pragma once

#include <signal.h>

#include <climits>

namespace dlaunch::agent {

/// What guard and agent tell each other, one per datagram.
struct GuardMessage {
    /// ready: the agent takes signals from now on. lease: there is one now, look at it.
    enum class Kind : int { signals, ready, cgroup, folder, suspended, lease } kind = Kind::signals;
    sigset_t set = {};         ///< signals the guard received
    int stop_signal = 0;       ///< with `suspended`
    char text[PATH_MAX] = {};  ///< a folder
};

}  // namespace dlaunch::agent
