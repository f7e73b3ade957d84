#include "agent/group/worker_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

namespace dlaunch::agent {

using Kind = GroupCommand::Kind;

// --- the table -------------------------------------------------------------------------------------------------------

/// Runs to completion: the change of state precedes the commands of the action, and no action feeds another event.
void WorkerGroup::feed(GroupEvent event, Time now) {
    const GroupState before = state_;
    const GroupCell& cell = table_[static_cast<std::size_t>(before)][static_cast<std::size_t>(event)];
    if (cell.action == GroupAction::unset || cell.action == GroupAction::impossible)
        throw std::logic_error(fmt::format("worker group: {} in state {}", name(event), name(before)));
    if (cell.next != before) enter(cell.next, event);
    act(cell.action, before, event, now);
}

/// Disarms the timers of the last state.
void WorkerGroup::enter(GroupState next, GroupEvent because) {
    state_ = next;
    deadline_.reset();
    look_again_.reset();
    looking_ = sweeping_ = false;
    command({.kind = Kind::enter, .state = next, .event = because});
}

void WorkerGroup::act(GroupAction action, GroupState before, GroupEvent event, Time now) {
    switch (action) {
        case GroupAction::spawn: return start_more(now);
        case GroupAction::settle: deadline_ = now + options_.settle; return;
        case GroupAction::fail:
            command({.kind = Kind::collect});
            command({.kind = Kind::announce});
            [[fallthrough]];
        case GroupAction::stop:
            mark_asked();
            command({.kind = Kind::stop, .signal = action == GroupAction::fail ? options_.stop_signal : stop_signal_});
            deadline_ = now + options_.grace;
            return;
        case GroupAction::kill:
            mark_asked();
            command({.kind = Kind::kill, .event = event});
            deadline_ = now + kUnkillable;
            return;
        case GroupAction::clear:
            sweeping_ = true;
            deadline_ = unkillable_ ? now : now + kSweepLimit;
            return sweep(now);
        case GroupAction::finish: {
            const bool failed =
                std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.has_failed; });
            return command({.kind = Kind::finish, .succeeded = before != GroupState::over && !failed});
        }
        default: return;
    }
}

void WorkerGroup::mark_asked() {
    for (Worker& worker : workers_)
        if (worker.lives()) worker.asked_to_stop = true;
}

std::optional<WorkerGroup::Time> WorkerGroup::next_deadline() const {
    std::optional<Time> next;
    for (const auto& time : {deadline_, look_again_, held_until()})
        if (time && (!next || *time < *next)) next = time;
    return next;
}

void WorkerGroup::tick(Time now) {
    release_ready(now);
    if (look_again_ && *look_again_ <= now) sweep(now);
    if (!deadline_ || *deadline_ > now) return;
    deadline_.reset();
    switch (state_) {
        case GroupState::starting:
            if (template_ == TemplateState::preparing) command({.kind = Kind::hint});
            return;
        case GroupState::settling: feed(GroupEvent::settled, now); return move_on(now);
        case GroupState::stopping: feed(GroupEvent::grace_over, now); return move_on(now);
        case GroupState::killing:
            command({.kind = Kind::report_unkillable});
            unkillable_ = true;
            for (Worker& worker : workers_) worker.phase = Phase::over;
            if (template_ == TemplateState::preparing) template_ = TemplateState::absent;
            return feed(GroupEvent::unkillable, now);
        case GroupState::clearing: return drain();
        default: return;
    }
}

// --- requests --------------------------------------------------------------------------------------------------------

void WorkerGroup::assign(int workers, Time now, bool has_peers) {
    if (!is(GroupState::over)) {
        workers_.assign(static_cast<std::size_t>(workers), {});
        held_.clear();
        request_until_.reset();
        has_peers_ = has_peers;
        template_is_new_ = orphans_asked_ = false;
        may_start_ = true;
    }
    feed(GroupEvent::assigned, now);
}

void WorkerGroup::stop(int signal, Time now) {
    stop_signal_ = signal;
    feed(GroupEvent::stop_requested, now);
    release_for_stop(now);
    move_on(now);
}

void WorkerGroup::kill(Time now) {
    feed(GroupEvent::kill_requested, now);
    release_for_stop(now);
    if (is(GroupState::clearing)) {
        if (sweeping_) deadline_ = now;
        command({.kind = Kind::cut_drain});
    }
    move_on(now);
}

void WorkerGroup::time_out(Time now) {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].lives() && !workers_[index].asked_to_stop)
            fail(static_cast<int>(index), FailureKind::timed_out, false);
    stop(options_.stop_signal, now);
}

void WorkerGroup::suspend() {
    suspended_ = true;
    command({.kind = Kind::signal, .signal = SIGSTOP});
}

void WorkerGroup::resume(Time now) {
    suspended_ = false;
    command({.kind = Kind::signal, .signal = SIGCONT});
    start_more(now);
}

// --- starting --------------------------------------------------------------------------------------------------------

void WorkerGroup::start_more(Time now) {
    if (!is(GroupState::starting) || suspended_) return;
    const auto next = std::find_if(workers_.begin(), workers_.end(),
                                   [](const Worker& worker) { return worker.phase == Phase::unstarted; });
    if (next != workers_.end() && options_.forks && template_ != TemplateState::ready) {
        if (template_ == TemplateState::preparing) return;
        template_ = TemplateState::preparing;
        template_is_new_ = true;
        deadline_ = now + kLongPreparation;
        return command({.kind = Kind::start_template});
    }
    const std::size_t on_their_way = count(Phase::ordered) + count(Phase::made);
    if (next != workers_.end()) {
        if (!may_start_ || on_their_way >= kStartingAtOnce) return;
        may_start_ = false;
        next->phase = Phase::ordered;
        return command({.kind = Kind::start, .worker = static_cast<int>(next - workers_.begin())});
    }
    if (on_their_way > 0) return;
    feed(GroupEvent::started, now);
    command({.kind = Kind::started});
    go_on(now);
}

void WorkerGroup::proceed(Time now) {
    may_start_ = true;
    start_more(now);
}

void WorkerGroup::made(int worker) {
    if (at(worker).phase == Phase::ordered) at(worker).phase = Phase::made;
}

void WorkerGroup::unmade(int worker, Time now) {
    if (at(worker).phase == Phase::ordered) at(worker).phase = Phase::unstarted;
    move_on(now);
}

void WorkerGroup::executed(int worker, Time now) {
    if (!at(worker).lives()) return;
    at(worker).phase = Phase::running;
    start_more(now);
}

void WorkerGroup::not_started(int worker, Time now) {
    if (!at(worker).lives()) return;
    at(worker).phase = Phase::over;
    if (is(GroupState::starting))
        fail(worker, FailureKind::not_started, false);  // later failures are consequences of the stop
    feed(GroupEvent::spawn_failed, now);
    go_on(now);
}

// --- ends ------------------------------------------------------------------------------------------------------------

void WorkerGroup::ended(int worker, const End& end, Time now) {
    if (!at(worker).lives()) return;  // the worker had survived SIGKILL and was given up
    at(worker).phase = Phase::over;
    if (!is_before_stop()) {
        judge({worker, end}, false, now);
        return move_on(now);
    }
    if (end.may_hold && !request_until_) request_until_ = now + kHeldFor;
    held_.push_back({worker, end, request_until_.has_value(), now + kMessageWithin});
    release_ready(now);
}

void WorkerGroup::judged(int worker, Time now) {
    if (!heeds_verdicts()) return;
    fail(worker, FailureKind::judged, false);
    feed(GroupEvent::exited_badly, now);
    go_on(now);
}

/// Records the first failure of a worker; its exit after a stop is no second one.
void WorkerGroup::fail(int worker, FailureKind kind, bool collateral) {
    if (std::exchange(at(worker).has_failed, true)) return;
    command({.kind = Kind::fail, .worker = worker, .failure = kind, .collateral = collateral});
}

// --- the template ----------------------------------------------------------------------------------------------------

void WorkerGroup::template_ready(Time now) {
    template_ = TemplateState::ready;
    if (is(GroupState::starting)) deadline_.reset();
    start_more(now);
    move_on(now);
}

void WorkerGroup::template_refused(Time now) {
    template_ = TemplateState::absent;
    if (is(GroupState::starting)) {
        fail(0, FailureKind::template_refused, false);
        feed(GroupEvent::spawn_failed, now);
    }
    go_on(now);
}

/// The exit of the template fails a round that still needs it. A template of an earlier round that has made no worker
/// of this round is replaced: its exit must not cost a restart.
void WorkerGroup::template_ended(const TemplateEnd& end, Time now) {
    template_ = TemplateState::absent;
    const bool starting = is(GroupState::starting);
    if (starting && !template_is_new_ && none_made()) {
        for (Worker& worker : workers_) worker.phase = Phase::unstarted;
        may_start_ = true;
        return start_more(now);
    }
    const int missing = first_without_process();
    const bool stopping = is(GroupState::stopping) || is(GroupState::killing);
    if (starting && missing >= 0 && end.well) {
        fail(missing, FailureKind::template_passed, false);
        feed(GroupEvent::spawn_failed, now);
    } else if (missing >= 0 && !end.well && (starting || (stopping && !end.at_fork_point))) {
        fail(missing, FailureKind::template_ended, !starting || end.fenced);
        feed(GroupEvent::exited_badly, now);
    }
    go_on(now);
}

// --- the end of the round --------------------------------------------------------------------------------------------

std::size_t WorkerGroup::count(Phase phase) const {
    return static_cast<std::size_t>(
        std::count_if(workers_.begin(), workers_.end(), [&](const Worker& worker) { return worker.phase == phase; }));
}

int WorkerGroup::first_without_process() const {
    for (std::size_t index = 0; index < workers_.size(); ++index)
        if (workers_[index].phase == Phase::unstarted || workers_[index].phase == Phase::ordered)
            return static_cast<int>(index);
    return -1;
}

bool WorkerGroup::none_made() const { return count(Phase::unstarted) + count(Phase::ordered) == workers_.size(); }

bool WorkerGroup::none_left() const {
    const bool lives =
        std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.lives(); });
    return !lives && template_ != TemplateState::preparing && held_.empty();
}

/// Runs after every event: moves on when no worker is left.
void WorkerGroup::move_on(Time now) {
    if (!none_left()) return;
    const bool waits_for_peers = is(GroupState::settling) && has_peers_;
    if (is(GroupState::running) || is(GroupState::killing) || (is(GroupState::settling) && !waits_for_peers))
        return feed(GroupEvent::none_left, now);
    if (!is(GroupState::stopping) || std::exchange(looking_, true)) return;
    command({.kind = Kind::look_for_orphans});
}

/// Processes in a worker's group get the same grace as the workers, whether their worker died of the stop signal,
/// failed or exited before. SIGTERM also ends background processes of a shell, for which the shell ignores SIGINT.
void WorkerGroup::orphans(std::size_t living, Time now) {
    if (!is(GroupState::stopping) || !std::exchange(looking_, false)) return;
    if (living == 0) return feed(GroupEvent::none_left, now);
    if (!std::exchange(orphans_asked_, true)) command({.kind = Kind::end_orphans});
}

void WorkerGroup::child(Time now) {
    if (is(GroupState::stopping)) return move_on(now);
    if (!is(GroupState::clearing) || !sweeping_ || !look_again_) return;
    look_again_ = std::min(*look_again_, last_sweep_ + kLookPause);
    if (*look_again_ <= now) sweep(now);
}

void WorkerGroup::sweep(Time now) {
    last_sweep_ = now;
    look_again_.reset();
    command({.kind = Kind::sweep});
}

void WorkerGroup::swept(std::size_t living, Time now) {
    if (!is(GroupState::clearing) || !sweeping_) return;
    if (living == 0 || !deadline_ || *deadline_ <= now) return drain();
    look_again_ = now + kLookAgain;
}

void WorkerGroup::drain() {
    sweeping_ = false;
    deadline_.reset();
    look_again_.reset();
    command({.kind = Kind::drain});
}

void WorkerGroup::drained(Time now) {
    if (is(GroupState::clearing) && !sweeping_) feed(GroupEvent::cleared, now);
}

}  // namespace dlaunch::agent
