#pragma once
/// When the next round may begin: enough nodes, the last call over, no pause to wait for. No I/O, no clock.

#include <algorithm>
#include <cstddef>
#include <optional>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

class Gathering {
public:
    enum class Step { wait, start, timed_out };

    /// What is known of the nodes at this moment.
    struct Nodes {
        std::size_t all = 0;        ///< the cut off among them, which come back or are lost soon
        std::size_t connected = 0;  ///< of those
        std::size_t ready = 0;      ///< of those, without nodes whose hosts cool down
        std::size_t limit = 1;      ///< more cannot take part
        std::size_t awaited = 0;    ///< members of a predecessor's round, while they may still come
    };

    void begin(Time now, const JobConfig& job, bool is_first_round, Milliseconds progress);
    /// The round may not begin earlier: a back-off, or members that may not have fenced themselves yet.
    void not_before(Time time) { not_before_ = std::max(not_before_, time); }
    /// No member is unseen: nothing needs to fence itself.
    void nothing_lives(Time now) { not_before_ = now; }
    /// `earliest`: not_before(), as the rules see it.
    [[nodiscard]] Step step(Time now, Time earliest, const Nodes& nodes);
    /// A line about missing nodes is due; the next one later.
    [[nodiscard]] bool progress_is_due(Time now);

    [[nodiscard]] Time not_before() const { return not_before_; }
    /// How long the last call still takes, where it has begun.
    [[nodiscard]] std::optional<Time::duration> last_call(Time now) const;
    /// When step() or progress_is_due() may answer otherwise, if no node comes or goes.
    [[nodiscard]] Time deadline(Time now, Time earliest) const;

private:
    [[nodiscard]] bool may_start(Time now, Time earliest, const Nodes& nodes);

    std::size_t min_nodes_ = 1;
    Milliseconds last_call_{0}, progress_{0};
    bool is_first_round_ = true;  ///< only that one has a last call
    Time not_before_{}, timed_out_at_ = kNever, last_call_until_ = kNever, next_progress_ = kNever;
};

}  // namespace dlaunch::rendezvous
