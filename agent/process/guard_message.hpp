#pragma once

#include <signal.h>

#include <climits>

namespace dlaunch::agent {

/// What guard and agent send each other, one per datagram.
struct GuardMessage {
    /// ready: the agent takes signals from now on. lease: there is one now, look at it. connection: comes with a
    /// descriptor, or with none. ending: the agent exits next. coordinator: comes with the descriptors of a seat.
    enum class Kind : int {
        signals,
        ready,
        cgroup,
        folder,
        suspended,
        lease,
        connection,
        ending,
        coordinator
    } kind = Kind::signals;
    sigset_t set = {};         ///< signals the guard received
    int number = 0;            ///< with `suspended` the stop signal, with `ending` the exit status,
                               ///< with `coordinator` 1 where it is all that this guard has
    char text[PATH_MAX] = {};  ///< a folder; with `connection` the good-bye, with `ending` a line for the user
    int size = 0;              ///< of the good-bye
};

}  // namespace dlaunch::agent
