#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "agent/errors/failure.hpp"
#include "agent/process/forking.hpp"
#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One worker of the running round, or what is known of it after its end.
struct Worker {
    int rank = 0, local_rank = 0;
    pid_t pid = 0;  ///< 0: not started. It leads a process group of that number
    base::UniqueFd pidfd;
    base::Watch ended;                 ///< the pidfd became readable
    std::optional<Spawning> spawning;  ///< until it is known whether it runs its program
    std::optional<Forking> forking;    ///< the same, of a fork; its pid may not be known yet
    base::Watch progress;              ///< of one of the two
    bool expected = false;             ///< a fork's pid is not known yet: no child is reaped meanwhile
    bool alive = false;
    bool has_terminal = false;
    bool asked_to_stop = false;  ///< by us: what follows is no cause
    bool hung = false;           ///< we killed it because a deadline of its own passed
    std::string hung_in;         ///< the name of that deadline
    // Of its end, as waitid(2) tells:
    int code = 0;    ///< si_code: CLD_EXITED, CLD_KILLED, CLD_DUMPED
    int status = 0;  ///< exit status or signal
    Usage usage;
    std::int64_t oom_kills = -1;  ///< in its own cgroup; -1: not counted

    /// As a shell would say it.
    [[nodiscard]] int exit_status() const;
};

}  // namespace dlaunch::agent
