#pragma once
/// The reason for the end of a round, which decides its price: a failure spends a restart, a loss or a change does not,
/// a verdict ends the job. No I/O, no clock.
///
/// A failure counts only if it came first. Failures after a loss or during a stop are excused: peers of a lost node
/// fail because of the loss, and stopped workers may exit with any status.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/causes.hpp"
#include "rendezvous/wire/job.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Blame {
public:
    enum class Outcome { verdict, failure, loss, change };

    /// When a signal ends a whole node, failures of its peers may be reported before the node's Leave.
    static constexpr auto kSameMoment = Milliseconds(500);

    void begin_round() { *this = {}; }
    /// A worker failed; its node knows no other cause.
    void failed(Time now, const std::string& node, const Cause& cause);
    /// The workers of a node have ended well. `exit`: the latest.
    void succeeded(const std::string& node, const Cause& exit);
    /// Adds the exits of nodes that have ended well, where only lost peers are known as causes.
    void add_early_exits();
    void name(std::int32_t rank, std::string summary) { causes_.name(rank, std::move(summary)); }
    void judged(Cause cause) { causes_.judged(std::move(cause)); }
    /// The workers of a node have ended.
    void ended(const RankOutcomes& outcomes);
    /// A member was lost; its last message arrived at `last_received`.
    void lost(Time last_received, const std::string& host);
    /// The round is being stopped. If no failure was recorded yet, later failures are consequences of the stop and are
    /// excused.
    void stopped() { excused_ = excused_ || causes_.empty(); }
    /// Excuses the failures of the round: a change of membership may have caused them.
    void excuse() { excused_ = true; }
    /// A signal ended a node together with its workers. Excuses failures of the last kSameMoment; true: they counted
    /// before.
    bool excuse_same_moment(Time now);
    /// The job ends when the round has stopped; later decisions are ignored. `with_causes`: the verdict reports the
    /// round's failures. `yields`: an earlier failure that counts takes precedence over the verdict.
    void decide(const Verdict& verdict, bool with_causes, bool yields);
    /// State for a successor. It contains no causes: members report theirs again.
    [[nodiscard]] PendingStop pending(std::string reason) const;
    void restore(const PendingStop& stop);
    /// The coordinator was stalled for `gap`.
    void pass(Time::duration gap) { caused_at_ += gap; }

    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] const Causes& causes() const { return causes_; }
    [[nodiscard]] const RankOutcomes& outcomes() const { return outcomes_; }
    [[nodiscard]] Time caused_at() const { return caused_at_; }
    [[nodiscard]] bool counts() const { return !causes_.empty() && !excused_; }
    [[nodiscard]] const std::optional<Verdict>& decided() const { return verdict_; }
    [[nodiscard]] bool with_causes() const { return with_causes_; }
    /// Of the latest lost member; empty: none was lost.
    [[nodiscard]] const std::string& lost_host() const { return lost_host_; }
    /// Arrival of the last message of the first lost member.
    [[nodiscard]] Time lost_at() const { return lost_at_; }

private:
    Causes causes_;
    std::deque<Causes::Reported> exits_;  ///< the latest Causes::kMost of nodes that have ended well
    RankOutcomes outcomes_;
    Time caused_at_{};
    std::string lost_host_;
    Time lost_at_{};
    bool excused_ = false;
    std::optional<Verdict> verdict_;
    bool with_causes_ = false, yields_ = false;
};

}  // namespace dlaunch::rendezvous
