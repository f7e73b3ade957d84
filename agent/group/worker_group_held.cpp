// Exits that are not judged yet: they wait for their message, for a request to stop that may explain them, or, after
// the loss of a peer, for the end of the start.

#include <algorithm>

#include "agent/group/worker_group.hpp"

namespace dlaunch::agent {

void WorkerGroup::message(int worker, bool lost_peer, Time now) {
    for (Held& held : held_)
        if (held.worker == worker) {
            held.end.message_follows = false;
            held.end.lost_peer = lost_peer;
        }
    release_ready(now);
}

void WorkerGroup::judge(const Held& held, bool excused, Time now) {
    const bool collateral = excused || held.end.fenced || held.end.asked;
    if (held.end.well) return feed(GroupEvent::exited_well, now);
    fail(held.worker, FailureKind::ended, collateral);
    feed(is_settled_later(held) && !collateral ? GroupEvent::lost_peer : GroupEvent::exited_badly, now);
}

bool WorkerGroup::is_settled_later(const Held& held) const {
    return held.end.lost_peer && !held.end.message_follows && options_.settle.count() > 0;
}

/// The first exit that is judged next. A lost peer is judged when all workers have started: the lost rank may still be
/// starting.
std::size_t WorkerGroup::next_held() const {
    const auto next = std::find_if(held_.begin(), held_.end(), [this](const Held& held) {
        return !is(GroupState::starting) || !is_settled_later(held);
    });
    return static_cast<std::size_t>(next - held_.begin());
}

std::optional<WorkerGroup::Time> WorkerGroup::held_until() const {
    const std::size_t next = next_held();
    if (next == held_.size()) return std::nullopt;
    const Held& first = held_[next];
    const Time for_message = first.end.message_follows ? first.until : Time::min();
    return std::max(for_message, first.after_request && request_until_ ? *request_until_ : Time::min());
}

/// Judges the exits that wait no longer, in their order.
void WorkerGroup::release_ready(Time now) {
    if (held_.empty()) return;
    while (held_until() && *held_until() <= now) {
        const auto next = held_.begin() + static_cast<std::ptrdiff_t>(next_held());
        const Held held = *next;
        held_.erase(next);
        judge(held, false, now);
    }
    if (held_.empty()) request_until_.reset();
    start_more(now);
    move_on(now);
}

/// A request to stop explains the exits that may be its consequences. Other held exits are failures.
void WorkerGroup::release_for_stop(Time now) {
    request_until_.reset();
    while (!held_.empty()) {
        const Held held = held_.front();
        held_.pop_front();
        judge(held, held.after_request, now);
    }
    start_more(now);
}

/// After a change of the state.
void WorkerGroup::go_on(Time now) {
    if (held_.empty()) return move_on(now);
    release_ready(now);
}

}  // namespace dlaunch::agent
