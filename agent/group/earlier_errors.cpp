#include "agent/group/earlier_errors.hpp"

#include <algorithm>
#include <utility>

namespace dlaunch::agent {
namespace {

constexpr auto kJustShown = std::chrono::seconds(1);  // longest time from a rank's error to another one's exit

}  // namespace

void EarlierErrors::begin() {
    ++round_;
    looks_ = false;
    shown_.clear();
    waiting_.clear();
    found_.clear();
}

void EarlierErrors::find(const Event& exit, std::function<void()> done) {
    if (settle(exit)) return done();
    waiting_.push_back({exit, std::move(done)});
    if (!looks_) look();
}

/// An error counts as shown when its line was read, which may be after the exit that it caused.
bool EarlierErrors::settle(const Event& exit) {
    const auto before = std::ranges::find_if(
        shown_, [&](const Event& error) { return error.rank != exit.rank && exit.at - error.at <= kJustShown; });
    return before != shown_.end() && found_.try_emplace(exit.rank, before->rank).second;
}

/// A look that has begun may have read a rank's output before that rank showed its error: later exits wait for the
/// next one.
void EarlierErrors::look() {
    looks_ = true;
    look_([this, round = round_, served = std::exchange(waiting_, {})](std::vector<Event> shown) {
        if (round != round_) return;
        shown_ = std::move(shown);
        for (const Waiting& each : served) {
            static_cast<void>(settle(each.exit));
            each.done();
        }
        looks_ = false;
        if (!waiting_.empty()) look();
    });
}

int EarlierErrors::rank_before(int exited) const {
    const auto found = found_.find(exited);
    return found == found_.end() ? -1 : found->second;
}

}  // namespace dlaunch::agent
