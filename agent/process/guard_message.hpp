#pragma once

#include <signal.h>

#include <climits>

namespace dlaunch::agent {

/// What guard and agent tell each other, one per datagram.
struct GuardMessage {
    /// ready: the agent takes signals from now on. lease: there is one now, look at it. connection: comes with a
    /// descriptor, or with none.
    enum class Kind : int { signals, ready, cgroup, folder, suspended, lease, connection } kind = Kind::signals;
    sigset_t set = {};         ///< signals the guard received
    int stop_signal = 0;       ///< with `suspended`
    char text[PATH_MAX] = {};  ///< a folder; with `connection` what is to be said on it at last
    int size = 0;              ///< of the text with `connection`
};

}  // namespace dlaunch::agent
