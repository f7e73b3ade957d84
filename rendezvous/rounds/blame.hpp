#pragma once
/// Why a round ends, which decides its price: a failure spends a restart, a loss or a change does not, a verdict ends
/// the job. No I/O, no clock.
///
/// Failures that may follow from something else do not count: peers of a lost node die of its loss, and workers that
/// are being stopped may exit with anything. A failure counts when it came first.

#include <optional>
#include <string>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/causes.hpp"
#include "rendezvous/wire/job.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Blame {
public:
    enum class Outcome { verdict, failure, loss, change };

    /// Workers of a node that is stopped as a whole are reported later than their peers' failures that follow from it.
    static constexpr auto kSameMoment = Milliseconds(500);

    void begin_round() { *this = {}; }
    /// A worker failed by itself, as far as its node can know.
    void failed(Time now, const std::string& node, const Cause& cause);
    /// A member was lost whose last message came at `last_received`.
    void lost(Time last_received, const std::string& host);
    /// The round is stopped: without a failure before, what fails from now on follows from the stop.
    void stopped() { excused_ = excused_ || causes_.empty(); }
    /// What fails or has failed may follow from a change of membership.
    void excuse() { excused_ = true; }
    /// A node was stopped together with its workers. True: failures of the moment before are excused by it now.
    bool excuse_same_moment(Time now);
    /// The job ends when the round has stopped. The first decision stands. `with_causes`: the round's failures are
    /// reported with it. `yields`: failures that count were there before, and their status stands.
    void decide(const Verdict& verdict, bool with_causes, bool yields);
    /// What a successor goes on from; causes are not in it, as members report theirs again.
    [[nodiscard]] PendingStop pending(std::string reason) const;
    void restore(const PendingStop& stop);
    /// The coordinator stood still for `gap`.
    void pass(Time::duration gap) { caused_at_ += gap; }

    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] const Causes& causes() const { return causes_; }
    [[nodiscard]] Time caused_at() const { return caused_at_; }
    [[nodiscard]] bool counts() const { return !causes_.empty() && !excused_; }
    [[nodiscard]] const std::optional<Verdict>& decided() const { return verdict_; }
    [[nodiscard]] bool with_causes() const { return with_causes_; }
    /// Of the latest lost member; empty: none was lost.
    [[nodiscard]] const std::string& lost_host() const { return lost_host_; }
    /// When the last message of the first lost member came.
    [[nodiscard]] Time lost_at() const { return lost_at_; }

private:
    Causes causes_;
    Time caused_at_{};
    std::string lost_host_;
    Time lost_at_{};
    bool excused_ = false;
    std::optional<Verdict> verdict_;
    bool with_causes_ = false, yields_ = false;
};

}  // namespace dlaunch::rendezvous
