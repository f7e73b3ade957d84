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

/// One worker of the running round; after its end, with its status.
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
    bool asked_to_stop = false;  ///< by the agent: its end is collateral
    bool hung = false;           ///< killed by the agent because a deadline of its own passed
    std::string hung_in;         ///< the name of that deadline
    // Of its end, from waitid(2):
    int code = 0;    ///< si_code: CLD_EXITED, CLD_KILLED, CLD_DUMPED
    int status = 0;  ///< exit status or signal
    Usage usage;
    std::int64_t oom_kills = -1;  ///< in its own cgroup; -1: not counted

    /// As a shell has it: 128 + signal.
    [[nodiscard]] int exit_status() const;
};

}  // namespace dlaunch::agent
