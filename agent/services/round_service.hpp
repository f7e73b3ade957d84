#pragma once
/// Services of a round for its workers: loss notices, timers, standard input. The worker group's shell has a list of
/// services, and calls each at the same points of every round.

#include <sys/types.h>

#include <vector>

#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// The services' additions to a worker before its start.
struct Contribution {
    Variables variables;                ///< override the worker's other variables
    int input = -1;                     ///< its fd 0; -1: dlaunch's
    bool terminal = false;              ///< the worker reads from the terminal, in its own process group
    std::vector<base::UniqueFd> owned;  ///< descriptors to close when the worker has its copies
};

/// Owned by the agent; outlives every round. Called from the loop.
class RoundService {
public:
    virtual ~RoundService() = default;

    virtual void prepare(const Assignment&) {}  ///< a round begins; no worker of it runs
    virtual void contribute(const Assignment&, int /*local_rank*/, Contribution&) {}  ///< once per worker and round
    virtual void started() {}                                                         ///< all workers of the round run
    virtual void ended(pid_t /*worker*/) {}  ///< the worker was reaped; its pid may be reused
    virtual void finish() {}                 ///< no worker of the round lives
};

}  // namespace dlaunch::agent
