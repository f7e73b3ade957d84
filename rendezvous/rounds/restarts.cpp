#include "rendezvous/rounds/restarts.hpp"

#include <algorithm>

namespace dlaunch::rendezvous {

RestartDecision Restarts::on_failure(const FailedRound& round) {
    using Kind = RestartDecision::Kind;
    if (round.permanent) return {Kind::permanent, {}};

    if (round.lasted >= limits_.healthy) {
        quick_in_a_row_ = alike_in_a_row_ = 0;
    } else {
        alike_in_a_row_ = round.cause == last_cause_ ? alike_in_a_row_ + 1 : 1;
        ++quick_in_a_row_;
    }
    last_cause_ = round.cause;

    if (used_ >= limits_.max_restarts) return {Kind::budget_spent, {}};
    if (limits_.crash_loop > 0 && alike_in_a_row_ >= limits_.crash_loop) return {Kind::crash_loop, {}};

    ++used_;
    if (quick_in_a_row_ <= 1)
        pause_ = {};
    else
        pause_ = std::min(pause_.count() == 0 ? limits_.first : pause_ * 2, limits_.most);
    return {Kind::restart, pause_};
}

}  // namespace dlaunch::rendezvous
