#pragma once
/// Conditions for the start of a round: enough nodes, end of the last call, end of a pause. No I/O, no clock.

#include <algorithm>
#include <cstddef>
#include <optional>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

class Gathering {
public:
    enum class Step { wait, start, timed_out };

    /// Numbers of nodes at this moment.
    struct Nodes {
        std::size_t all = 0;        ///< known nodes, disconnected ones included
        std::size_t connected = 0;  ///< connected nodes
        std::size_t ready = 0;      ///< connected nodes not in a cool-down
        std::size_t limit = 1;      ///< most nodes in a round
        std::size_t expected = 0;   ///< members of a predecessor's round, while some may still join
    };

    void begin(Time now, const JobConfig& job, bool is_first_round, Milliseconds first_progress, Milliseconds progress);
    /// Earliest start of the round: a back-off, or members that may not have fenced themselves yet.
    void not_before(Time time) { not_before_ = std::max(not_before_, time); }
    /// All members have joined: no missing member must fence itself before the round starts.
    void nothing_lives(Time now) { not_before_ = now; }
    /// `earliest`: not_before() after Rules::earliest_start().
    [[nodiscard]] Step step(Time now, Time earliest, const Nodes& nodes);
    /// Whether a line about missing nodes is due; sets the time of the next.
    [[nodiscard]] bool progress_is_due(Time now);

    [[nodiscard]] Time not_before() const { return not_before_; }
    [[nodiscard]] Time::duration waited(Time now) const { return now - began_; }
    /// Time until the end of the last call; none if none is running.
    [[nodiscard]] std::optional<Time::duration> last_call(Time now) const;
    /// The next time at which the result of step() or progress_is_due() can change without an event.
    [[nodiscard]] Time deadline(Time now, Time earliest) const;

private:
    [[nodiscard]] bool may_start(Time now, Time earliest, const Nodes& nodes);

    std::size_t min_nodes_ = 1;
    Milliseconds last_call_{0}, progress_{0};
    bool is_first_round_ = true;  ///< only the first round has a last call
    Time began_{}, not_before_{}, timed_out_at_ = kNever, last_call_until_ = kNever, next_progress_ = kNever;
};

}  // namespace dlaunch::rendezvous
