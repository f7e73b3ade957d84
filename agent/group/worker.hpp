#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "agent/errors/failure.hpp"
#include "agent/process/forking.hpp"
#include "agent/process/spawn.hpp"
#include "agent/services/round_service.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One worker of the current round, with its exit status once it has exited.
struct Worker {
    int rank = 0, local_rank = 0;
    pid_t pid = 0;  ///< 0: not started. The worker leads the process group of this number
    base::UniqueFd pidfd;
    base::Watch ended;                 ///< the pidfd became readable
    std::optional<Spawning> spawning;  ///< set until the result of exec is known
    std::optional<Forking> forking;    ///< the same for a fork of the template; its pid may still be unknown
    base::Watch progress;              ///< on `forking`
    bool expected = false;             ///< the fork's pid is unknown: no other child may be reaped meanwhile
    bool alive = false;
    bool has_terminal = false;
    bool writes_to_terminal = false;      ///< its stderr passes no pipe of ours
    bool asked_to_stop = false;           ///< by the agent: the exit is collateral
    std::uint64_t told = 0;               ///< the signals that its process group has received, as SigCgt in proc(5)
    std::chrono::milliseconds told_at{};  ///< the last of them, since boot
    bool hung = false;                    ///< the agent killed the worker because its file timer expired
    std::string hung_in;                  ///< the scope of that timer
    std::optional<Verdict> verdict;       ///< of a service: the worker counts as failed for this reason
    // From waitid(2), after the exit:
    int code = 0;    ///< si_code: CLD_EXITED, CLD_KILLED, CLD_DUMPED
    int status = 0;  ///< exit status or signal
    base::Time ended_at{};
    Usage usage;
    std::int64_t oom_kills = -1;  ///< in the worker's cgroup; -1: not counted

    /// As in a shell: the exit status, or 128 + signal.
    [[nodiscard]] int exit_status() const;
};

}  // namespace dlaunch::agent
