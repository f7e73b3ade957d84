#include "rendezvous/rounds/gathering.hpp"

namespace dlaunch::rendezvous {

void Gathering::begin(Time now, const JobConfig& job, bool is_first_round, Milliseconds first_progress,
                      Milliseconds progress) {
    began_ = now;
    min_nodes_ = static_cast<std::size_t>(job.min_nodes);
    last_call_ = job.last_call;
    is_first_round_ = is_first_round;
    progress_ = progress;
    timed_out_at_ = now + job.join_timeout;
    next_progress_ = now + first_progress;
    last_call_until_ = kNever;
}

bool Gathering::may_start(Time now, Time earliest, const Nodes& nodes) {
    if (now < earliest || nodes.all < min_nodes_) return false;
    if (nodes.ready >= nodes.limit) return true;
    if (nodes.ready < min_nodes_) {
        last_call_until_ = kNever;
        return false;
    }
    if (nodes.connected < nodes.all || nodes.ready < nodes.expected) return false;
    if (is_first_round_ && last_call_until_ == kNever) last_call_until_ = now + last_call_;
    return !is_first_round_ || now >= last_call_until_;
}

Gathering::Step Gathering::step(Time now, Time earliest, const Nodes& nodes) {
    if (may_start(now, earliest, nodes)) return Step::start;
    if (now < timed_out_at_) return Step::wait;
    return nodes.ready >= min_nodes_ && now >= earliest ? Step::start : Step::timed_out;
}

bool Gathering::progress_is_due(Time now) {
    if (now < next_progress_) return false;
    next_progress_ = now + progress_;
    return true;
}

std::optional<Time::duration> Gathering::last_call(Time now) const {
    if (last_call_until_ == kNever || now >= last_call_until_) return std::nullopt;
    return last_call_until_ - now;
}

/// After the end of the last call the round waits only for disconnected nodes.
Time Gathering::deadline(Time now, Time earliest) const {
    Time due = std::min(timed_out_at_, next_progress_);
    if (last_call_until_ > now) due = std::min(due, last_call_until_);
    if (earliest > now) due = std::min(due, earliest);
    return due;
}

}  // namespace dlaunch::rendezvous
