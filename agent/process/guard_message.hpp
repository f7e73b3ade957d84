#pragma once

#include <signal.h>

#include <climits>

namespace dlaunch::agent {

/// A message between guard and agent, one per datagram.
struct GuardMessage {
    /// ready: the agent reads signals from now on. lease: the lease has begun. connection: with a descriptor; without
    /// one, the guard drops the former. ending: the agent exits next. coordinator: with the descriptors of a seat.
    /// no_more_hosts: for the coordinator, all hosts of a front end have joined or failed.
    /// received: the agent itself received a signal that ends the job.
    /// shared_memory: workers may leave some. nodes: the agent is a front end. status_socket: with a listener, see
    /// status_socket.hpp. last_record: with a memory file, see LastRecord; without one, the agent has written it all.
    enum class Kind : int {
        signals,
        received,
        ready,
        cgroup,
        folder,
        shared_memory,
        nodes,
        suspended,
        lease,
        connection,
        ending,
        coordinator,
        no_more_hosts,
        status_socket,
        last_record
    } kind = Kind::signals;
    sigset_t set = {};         ///< signals the guard received
    int number = 0;            ///< with `ready` 1 if the guard keeps the status, with
                               ///< `suspended` and `received` the signal, with `ending` the exit status, with
                               ///< `lease` the milliseconds for a rejoin, with `coordinator` 1 if the agent exits
                               ///< next, with `status_socket` the number of tasks
    char text[PATH_MAX] = {};  ///< a folder; with `connection` the good-bye, with `ending` a line for the user
    int size = 0;              ///< of the good-bye
    bool waited_for_console = false;  ///< with `ending`
    int continued = 0;                ///< with `suspended` the number of SIGCONTs that the agent has received
};

}  // namespace dlaunch::agent
