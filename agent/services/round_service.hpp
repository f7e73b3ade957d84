#pragma once
/// Services of a round for its workers: loss notices, timers, standard input, MPI. The worker group's shell has a list
/// of services, and calls each at the same points of every round.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
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
    std::vector<int> inherited;         ///< open in the worker under the same numbers; no fork of a template has them
    std::vector<base::UniqueFd> owned;  ///< descriptors to close when the worker has its copies
    std::string refusal;  ///< why the worker must not start: "the PMI socket: Too many open files"; else empty
};

/// A service's reason to count a worker as failed where its exit status does not show the failure.
struct Verdict {
    int code = 1;            ///< the worker's exit status in the report
    std::string text;        ///< continues "rank 3 (node2, pid 4711) ...": "called MPI_Abort with 7"
    bool permanent = false;  ///< a restart cannot help
};

/// The exit of a worker, before the agent judges it.
struct WorkerExit {
    int local_rank = 0;
    pid_t pid = 0;                   ///< was reaped; may be reused
    int status = 0;                  ///< as in a shell: the exit status, or 128 + signal
    std::optional<Verdict> verdict;  ///< set by a service: the worker has failed, for this reason
};

/// The services' influence on the round. Implemented by the worker group's shell; called from the loop.
class RoundControl {
public:
    /// The worker is the cause of a failure of the round, whether it runs, has exited with 0 or was never started.
    /// Without an effect once the workers have been asked to stop.
    virtual void fail(int local_rank, const Verdict& verdict) = 0;
    /// is_ready() of a service has become true.
    virtual void ready() = 0;

protected:
    ~RoundControl() = default;
};

/// Owned by the agent; outlives every round. Called from the loop.
class RoundService {
public:
    virtual ~RoundService() = default;

    virtual void control(RoundControl&) {}      ///< once, before the first round; the control outlives every round
    virtual void prepare(const Assignment&) {}  ///< a round begins; no worker of it runs
    [[nodiscard]] virtual bool is_ready() const { return true; }  ///< false: the round's workers start later
    virtual void contribute(const Assignment&, int /*local_rank*/, Contribution&) {}  ///< once per worker and round
    virtual void started() {}                                                         ///< all workers of the round run
    virtual void ended(WorkerExit&) {}                                                ///< a worker was reaped
    virtual void finish() {}   ///< no worker of the round lives; processes that workers left behind may
    virtual void cleared() {}  ///< no process of the round lives, except unkillable ones
    /// Calls `done`, at once or later from the loop, when the service has removed the files of ended rounds.
    virtual void when_clean(std::function<void()> done) { done(); }
};

}  // namespace dlaunch::agent
