#include "rendezvous/rounds/restarts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::rendezvous {
namespace {

constexpr const char* kLoss = "lost";  // the kind of every round that a loss ended, for any node

}  // namespace

void Restarts::count(std::chrono::milliseconds lasted, const std::string& kind) {
    if (lasted >= limits_.healthy) {
        counters_.quick_in_a_row = counters_.alike_in_a_row = 0;
    } else {
        counters_.alike_in_a_row = kind == counters_.kind ? counters_.alike_in_a_row + 1 : 1;
        ++counters_.quick_in_a_row;
    }
    counters_.kind = kind;
}

bool Restarts::is_crash_loop() const {
    return limits_.crash_loop > 0 && counters_.alike_in_a_row >= limits_.crash_loop;
}

RestartDecision Restarts::restart() {
    auto& pause = counters_.pause;
    if (counters_.quick_in_a_row <= 1)
        pause = {};
    else
        pause = std::min(pause.count() == 0 ? limits_.first : pause * 2, limits_.most);
    return {RestartDecision::Kind::restart, pause};
}

RestartDecision Restarts::on_failure(const FailedRound& round) {
    using Kind = RestartDecision::Kind;
    if (round.permanent) return {Kind::permanent, {}};
    count(round.lasted, round.cause);
    if (spent()) return {Kind::budget_spent, {}};
    if (is_crash_loop()) return {Kind::crash_loop, {}};
    ++counters_.used;
    return restart();
}

RestartDecision Restarts::on_loss(std::chrono::milliseconds lasted) {
    count(lasted, kLoss);
    if (is_crash_loop()) return {RestartDecision::Kind::crash_loop, {}};
    return restart();
}

void Restarts::on_change(std::chrono::milliseconds lasted) {
    if (lasted >= limits_.healthy) counters_.quick_in_a_row = counters_.alike_in_a_row = 0;
}

std::string Restarts::line(const RestartDecision& decision) const {
    if (decision.kind == RestartDecision::Kind::crash_loop) {
        if (counters_.kind == kLoss)
            return counters_.alike_in_a_row == 1
                       ? "gave up: the round lost a node soon after its start"
                       : fmt::format("gave up: each of the last {} rounds lost a node soon after its start",
                                     counters_.alike_in_a_row);
        if (used() == 0) return "gave up without a restart: the first failure is enough for --crash-loop=1";
        return fmt::format("gave up after {} restart{}: the job fails again and again in the same way", used(),
                           used() == 1 ? "" : "s");
    }
    return fmt::format("restarting all workers{} (restart {} of {})", pause_text(decision.pause), used(),
                       limits_.max_restarts);
}

std::string pause_text(std::chrono::milliseconds pause) {
    using namespace std::chrono_literals;
    return pause < 50ms ? "" : fmt::format(" in {:.1f} s", static_cast<double>(pause.count()) / 1e3);
}

}  // namespace dlaunch::rendezvous
