#pragma once
/// The interface between an agent and its job.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/errors/failure.hpp"
#include "agent/membership/assignment.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::agent {

/// The result of a round on this node, when no worker of the round lives.
struct RoundResult {
    bool succeeded = false;
    std::vector<Failure> failures;     ///< causes in the order in which the agent saw them, then stopped workers
    std::vector<std::string> remarks;  ///< lines after the report: processes killed, output dropped
    std::chrono::milliseconds lasted{};
    rendezvous::RankOutcomes outcomes{};  ///< of this node's workers
};

/// The result of the job, the same on every node.
struct JobVerdict {
    int status = 0;
    std::string reason;  ///< for users; empty when the first failure explains the end
    /// With several nodes: the failures of all nodes, first cause first. None: use this node's latest failures.
    std::optional<std::vector<Failure>> failures = std::nullopt;
    rendezvous::RankOutcomes outcomes{};  ///< of all nodes; empty: not known
};

/// The reason of a node's leave. It decides how the other nodes continue.
enum class LeaveReason {
    signal,        ///< the other nodes continue if they are enough, else the job ends
    cannot_host,   ///< likewise
    time_limit,    ///< the job ends everywhere
    unfit_node,    ///< the other nodes continue, or wait for a replacement
    guard_is_dead  ///< likewise, when no worker lives here any more
};

enum class StopFor {
    change,     ///< of the nodes: one may leave by a signal of SLURM's to all of them
    lost_node,  ///< the next round may have to wait for a node
    hang,       ///< of a worker elsewhere: the report shows where this node's workers are
};

class Membership {
public:
    /// The job's orders to this node. Called from the loop, never from inside a call to the Membership.
    struct Orders {
        std::function<void(const Assignment&)> start;  ///< begin a round
        /// Stop the running round, because a worker on another node failed or a node left. `lost`: dead ranks.
        /// `signal`: the one that ended the job on another node; 0: none.
        std::function<void(const std::string& reason, const rendezvous::LostRanks& lost, int signal)> stop;
        /// Print a line for the user. `cause`: the failure of the round before, if `text` is about its consequence and
        /// no line has named it; `message`: of the failure's error, on any node.
        std::function<void(const std::string& text, const std::string& cause, const std::string& message)> print;
        std::function<void(const JobVerdict&)> end;  ///< the job is over, and no worker runs here
        /// Kill the running round without a grace time: this node was cut off, and another node may soon run its ranks.
        std::function<void(const std::string& reason)> kill = nullptr;
        /// Of the nodes of a front end one prints the lines about the job: whether it is this one.
        std::function<void(bool)> speak = nullptr;
        /// Precedes a stop for a reason of StopFor.
        std::function<void(StopFor)> explain_stop = nullptr;
        /// The job has reached its time limit on another node: workers that still run are causes.
        std::function<void(const std::string& reason)> time_out = nullptr;
    };

    virtual ~Membership() = default;

    /// Joins the job. The first order follows later.
    virtual void join(Orders orders) = 0;

    /// Reports the first failure of the running round on this node, before the agent stops any worker.
    virtual void failed(const Failure& failure, Strength strength = Strength::crash) = 0;

    /// Reports that no worker of the round lives here. The next order follows.
    virtual void round_over(const RoundResult& end) = 0;

    /// This node leaves with `status` and runs no further round; `text` states the reason to users. Orders::end follows
    /// after round_over(), or at once if no round runs. `workers_too`: the workers received the signal, too, and may
    /// have exited before this call.
    virtual void leave(LeaveReason why, int status, const std::string& text, bool workers_too = false) = 0;

    /// A second request to leave: no worker gets a grace time.
    virtual void leave_at_once() {}
};

}  // namespace dlaunch::agent
