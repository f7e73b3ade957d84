#pragma once
/// What an agent and its job ask of each other.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/errors/failure.hpp"
#include "agent/membership/assignment.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::agent {

/// How a round ended on this node. No worker of it lives any more.
struct RoundEnd {
    bool succeeded = false;
    std::vector<Failure> failures;     ///< causes in the order they were seen here, then victims
    std::vector<std::string> remarks;  ///< for the user, after the report: what was swept, what was dropped
    std::chrono::milliseconds lasted{};
};

/// How the job ended, the same on every node.
struct JobVerdict {
    int status = 0;
    std::string reason;  ///< in words, when it is not the first failure itself
    /// Of all nodes, first cause first, where several nodes have a verdict in common; none: what failed here last.
    std::optional<std::vector<Failure>> failures = std::nullopt;
};

/// Why the worker store cannot be where the user wants it.
[[nodiscard]] inline std::string cannot_serve(const std::string& reason) {
    return "the worker store: " + reason + "; --master-addr and --master-port must name a free port of this node";
}

class Membership {
public:
    /// What the job asks of this node. Called from the loop, never from inside a call to the Membership.
    struct Orders {
        std::function<void(const Assignment&)> start;  ///< begin a round
        /// End the running round: somebody else failed or left. `lost` are the ranks that are gone already.
        std::function<void(const std::string& reason, const rendezvous::LostRanks& lost)> stop;
        std::function<void(const std::string& text)> tell;  ///< a line for the user
        std::function<void(const JobVerdict&)> end;         ///< the job is over; nothing of it runs here
        /// End the running round without grace: this node was cut off, and another may take its place any moment.
        std::function<void(const std::string& reason)> kill = nullptr;
    };

    virtual ~Membership() = default;

    /// Enters the job. An order follows, sooner or later.
    virtual void join(Orders orders) = 0;

    /// The first failure of the running round on this node, told before anything is stopped here.
    virtual void failed(const Failure& failure) = 0;

    /// No worker of the round lives here any more. The next order follows.
    virtual void round_over(const RoundEnd& end) = 0;

    /// This node ends with `status` because of `reason` (a signal, a time-out): no further round here. Followed by
    /// round_over() if one runs; Orders::end comes after that, else at once. `workers_too`: they were asked as well,
    /// and may have ended before this.
    virtual void leave(int status, const std::string& reason, bool workers_too) = 0;

    /// Asked to leave again: nobody is to have a grace any more.
    virtual void hurry() {}
};

}  // namespace dlaunch::agent
