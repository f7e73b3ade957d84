#pragma once
/// Whether a job is started again after a failure or a loss, and when. No I/O, no clock.

#include <chrono>
#include <string>
#include <utility>

#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// How a round failed, as far as this decision needs it.
struct FailedRound {
    std::chrono::milliseconds lasted{};  ///< until the cause, not until the last worker had stopped
    std::string cause;                   ///< equal for failures that are alike: how, code, signal; not the rank
    bool permanent = false;              ///< another try cannot end otherwise: the program cannot be executed
};

struct RestartDecision {
    enum class Kind { restart, budget_spent, crash_loop, permanent } kind = Kind::restart;
    std::chrono::milliseconds pause{};  ///< before the restart
};

/// max_restarts for the whole job. The first restart after a healthy round comes at once; quick rounds in a row pause,
/// doubling; too many in a row that ended alike are a crash loop. A loss spends no restart, but makes a quick round.
class Restarts {
public:
    using Limits = RestartLimits;

    /// `counters`: of an earlier coordinator of this job.
    explicit Restarts(Limits limits, RestartCounters counters = {}) : limits_(limits), counters_(std::move(counters)) {}

    RestartDecision on_failure(const FailedRound& round);
    /// A lost node has ended the round.
    RestartDecision on_loss(std::chrono::milliseconds lasted);
    /// Newcomers or a leaver have ended the round.
    void on_change(std::chrono::milliseconds lasted);

    /// A line for the user about a decision to restart or to give up.
    [[nodiscard]] std::string line(const RestartDecision& decision) const;

    [[nodiscard]] int used() const { return counters_.used; }
    /// A failure now would be the last.
    [[nodiscard]] bool spent() const { return counters_.used >= limits_.max_restarts; }
    [[nodiscard]] const RestartCounters& counters() const { return counters_; }

private:
    void count(std::chrono::milliseconds lasted, const std::string& kind);
    [[nodiscard]] bool is_crash_loop() const;
    RestartDecision restart();

    Limits limits_;
    RestartCounters counters_;
};

/// " in 1.5 s", or nothing for a pause that no user would notice.
[[nodiscard]] std::string pause_text(std::chrono::milliseconds pause);

}  // namespace dlaunch::rendezvous
