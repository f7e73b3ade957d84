#include "rendezvous/rounds/restarts.hpp"

#include <fmt/format.h>

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

std::string Restarts::told(const RestartDecision& decision) const {
    using namespace std::chrono_literals;
    if (decision.kind == RestartDecision::Kind::crash_loop) {
        if (used_ == 0) return "gave up without a restart: the first failure is enough for --crash-loop=1";
        return fmt::format("gave up after {} restart{}: the job fails again and again in the same way", used_,
                           used_ == 1 ? "" : "s");
    }
    const bool is_felt = decision.pause >= 50ms;
    const std::string after =
        is_felt ? fmt::format(" in {:.1f} s", static_cast<double>(decision.pause.count()) / 1e3) : "";
    return fmt::format("restarting all workers{} (restart {} of {})", after, used_, limits_.max_restarts);
}

}  // namespace dlaunch::rendezvous
