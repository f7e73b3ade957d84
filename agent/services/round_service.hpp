#pragma once
/// What a round offers its workers beside their processes: loss notices, timers, standard input, and whatever comes
/// later. The worker group's shell knows a list of services and calls each at the same points of every round.

#include <sys/types.h>

#include <vector>

#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// What a worker gets from the services, before it is started.
struct Contribution {
    Variables variables;                ///< set over those that it has from elsewhere
    int input = -1;                     ///< its fd 0; -1: that of dlaunch
    bool terminal = false;              ///< it reads from the terminal, in a process group of its own
    std::vector<base::UniqueFd> owned;  ///< descriptors that are closed here once the worker has its copies
};

/// Belongs to the agent and outlives every round. Called from the loop.
class RoundService {
public:
    virtual ~RoundService() = default;

    virtual void prepare(const Assignment&) {}  ///< a round begins; none of its workers runs
    virtual void contribute(const Assignment&, int /*local_rank*/, Contribution&) {}  ///< once per worker and round
    virtual void started() {}                                                         ///< all workers of the round run
    virtual void ended(pid_t /*worker*/) {}  ///< its pid is free for other processes
    virtual void finish() {}                 ///< no worker of the round lives
};

}  // namespace dlaunch::agent
