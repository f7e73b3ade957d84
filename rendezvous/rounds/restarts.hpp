#pragma once
/// Decides whether and when a job restarts after a failure or a loss. No I/O, no clock.

#include <chrono>
#include <string>
#include <utility>

#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// The properties of a failed round that the decision needs.
struct FailedRound {
    std::chrono::milliseconds lasted{};  ///< until the cause, not until the last worker had stopped
    std::string cause;       ///< kind of exit, code and signal, without the rank: equal for similar failures
    bool permanent = false;  ///< a restart is useless: the program cannot be executed
};

struct RestartDecision {
    enum class Kind { restart, budget_spent, crash_loop, permanent } kind = Kind::restart;
    std::chrono::milliseconds pause{};  ///< before the restart
};

/// max_restarts counts for the whole job. The first restart after a healthy round has no pause; after quick rounds in a
/// row the pause doubles; too many in a row with the same kind of failure are a crash loop. A loss spends no restart,
/// but counts as a quick round.
class Restarts {
public:
    using Limits = RestartLimits;

    /// `counters`: those of an earlier coordinator of this job.
    explicit Restarts(Limits limits, RestartCounters counters = {}) : limits_(limits), counters_(std::move(counters)) {}

    RestartDecision on_failure(const FailedRound& round);
    /// A lost node has ended the round.
    RestartDecision on_loss(std::chrono::milliseconds lasted);
    /// Newcomers or a leaver have ended the round.
    void on_change(std::chrono::milliseconds lasted);

    /// A line for the user about a decision to restart or to give up.
    [[nodiscard]] std::string line(const RestartDecision& decision) const;

    [[nodiscard]] int used() const { return counters_.used; }
    /// Whether the next failure ends the job.
    [[nodiscard]] bool spent() const { return counters_.used >= limits_.max_restarts; }
    [[nodiscard]] const RestartCounters& counters() const { return counters_; }

private:
    void count(std::chrono::milliseconds lasted, const std::string& kind);
    [[nodiscard]] bool is_crash_loop() const;
    RestartDecision restart();

    Limits limits_;
    RestartCounters counters_;
};

/// " in 1.5 s"; empty for an unnoticeable pause.
[[nodiscard]] std::string pause_text(std::chrono::milliseconds pause);

}  // namespace dlaunch::rendezvous
