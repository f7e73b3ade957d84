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
struct RoundEnd {
    bool succeeded = false;
    std::vector<Failure> failures;     ///< causes in the order in which the agent saw them, then stopped workers
    std::vector<std::string> remarks;  ///< lines after the report: processes killed, output dropped
    std::chrono::milliseconds lasted{};
};

/// The result of the job, the same on every node.
struct JobVerdict {
    int status = 0;
    std::string reason;  ///< for users; empty when the first failure explains the end
    /// With several nodes: the failures of all nodes, first cause first. None: use this node's latest failures.
    std::optional<std::vector<Failure>> failures = std::nullopt;
};

/// The message for a worker store that cannot listen at the user's address.
[[nodiscard]] inline std::string cannot_serve(const std::string& reason) {
    return "the worker store: " + reason + "; --master-addr and --master-port must name a free port of this node";
}

class Membership {
public:
    /// The job's orders to this node. Called from the loop, never from inside a call to the Membership.
    struct Orders {
        std::function<void(const Assignment&)> start;  ///< begin a round
        /// Stop the running round, because a worker elsewhere failed or a node left. `lost`: ranks that are dead
        /// already.
        std::function<void(const std::string& reason, const rendezvous::LostRanks& lost)> stop;
        std::function<void(const std::string& text)> tell;  ///< print a line for the user
        std::function<void(const JobVerdict&)> end;         ///< the job is over, and no worker runs here
        /// Kill the running round without a grace time: this node was cut off, and another may soon take its place.
        std::function<void(const std::string& reason)> kill = nullptr;
    };

    virtual ~Membership() = default;

    /// Joins the job. The first order follows later.
    virtual void join(Orders orders) = 0;

    /// Reports the first failure of the running round on this node, before the agent stops anything here.
    virtual void failed(const Failure& failure) = 0;

    /// Reports that no worker of the round lives here. The next order follows.
    virtual void round_over(const RoundEnd& end) = 0;

    /// This node leaves with `status` because of `reason` (a signal, a time-out): it runs no further round. If a round
    /// runs, round_over() must follow, and Orders::end comes after that; else at once. `workers_too`: the workers
    /// received the signal, too, and may have exited before this call.
    virtual void leave(int status, const std::string& reason, bool workers_too) = 0;

    /// A second request to leave: no worker gets a grace time.
    virtual void hurry() {}
};

}  // namespace dlaunch::agent
