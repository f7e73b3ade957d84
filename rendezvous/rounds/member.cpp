#include "rendezvous/rounds/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::rendezvous {
namespace {

double seconds(Milliseconds time) { return static_cast<double>(time.count()) / 1e3; }

}  // namespace

Member::Member(Options options, Time now, std::uint64_t jitter)
    : options_(std::move(options)),
      random_(jitter),
      give_up_at_(now + options_.join_timeout),
      next_progress_(now + options_.first_progress) {
    dial(now);
}

std::vector<Member::Action> Member::take_actions() { return std::exchange(actions_, {}); }

void Member::send(Message message) { actions_.emplace_back(SendOut{std::move(message)}); }

// --- messages of the coordinator -----------------------------------------------------------------------------------

bool Member::counts(const Stamp& from) const {
    return link_ == Link::welcome && from.epoch == epoch_ && from.incarnation == coordinator_;
}

/// After a freeze, buffered bytes are read before any timer fires. A verdict is final, so it counts after the lease,
/// too.
void Member::received(Time now, const Message& message) {
    const auto* over = std::get_if<End>(&message);
    if (over && !ended_ && counts(over->stamp)) return job_is_over(over->verdict);
    if (!ended_) check_lease(now);
    if (ended_ || fenced_ || link_ == Link::down || link_ == Link::dialing) return;
    if (const auto* welcome = std::get_if<Welcome>(&message)) return on_welcome(now, *welcome);
    if (const auto* refused = std::get_if<Refused>(&message)) return on_refused(now, *refused);
    const bool ours = std::visit(
        [this]<class Sent>(const Sent& sent) {
            if constexpr (requires { sent.stamp; }) {
                if (!counts(sent.stamp)) return false;
                latest_round_ = std::max(latest_round_, sent.stamp.round);
                return true;
            }
            return false;
        },
        message);
    if (!ours) return;
    last_received_ = now;
    if (const auto* beat = std::get_if<Beat>(&message)) {
        renew(now, beat->number);
        pace_beats(now, beat->pause);
    }
    if (const auto* assigned = std::get_if<Assigned>(&message)) on_assigned(now, *assigned);
    if (const auto* stop = std::get_if<StopRound>(&message)) on_stop(now, *stop);
    if (const auto* standbys = std::get_if<Standbys>(&message)) on_standbys(*standbys);
    if (const auto* notice = std::get_if<Notice>(&message))
        actions_.emplace_back(PrintLine{notice->text, notice->about_receiver, notice->cause, notice->message});
}

void Member::on_welcome(Time now, const Welcome& welcome) {
    if (is_stale(welcome.stamp.epoch)) {  // the coordinator has been replaced
        actions_.emplace_back(Disconnect{});
        link_ = Link::down;
        dial_at_ = now + jittered(options_.most_retry);
        return;
    }
    if (coordinator_ != 0 && welcome.stamp.epoch == epoch_ && welcome.stamp.incarnation != coordinator_)
        return give_incarnation_up(now, "another coordinator of the same epoch has answered");
    link_ = Link::welcome;
    if (ever_welcomed_ && !welcomed_) actions_.emplace_back(PrintLine{"joined the job again", true});
    welcomed_ = ever_welcomed_ = true;
    lease_over_ = false;
    epoch_ = welcome.stamp.epoch;
    coordinator_ = welcome.stamp.incarnation;
    coordinator_host_ = welcome.host;
    latest_round_ = std::max(latest_round_, welcome.stamp.round);
    job_ = welcome.job;
    last_received_ = now;
    beat_pause_ = least_pause(node_timeout());
    patience_ = jittered(patience());
    next_beat_ = now + jittered(beat_pause_);
    retry_ = Milliseconds(0);
    unanswered_ = 0;
    give_up_at_ = next_progress_ = kNever;
    renew(now, welcome.beat);
    if (leaving_) leaving_->stamp = stamp();
    if (leaving_ && leaves_first_) send(*leaving_);
    send_report();
    if (leaving_ && !leaves_first_) send(*leaving_);
}

void Member::on_standbys(const Standbys& standbys) {
    const StandbyPlace own{options_.record.address, options_.record.standby_port};
    NameStandbys named{standbys.places};
    named.is_one = std::erase(named.others, own) > 0;
    actions_.emplace_back(std::move(named));
}

/// A standby's address may meanwhile belong to another job, which refuses this node.
void Member::on_refused(Time now, const Refused& refused) {
    if (!refused.rejoin && ever_welcomed_ && !options_.fixed_coordinator) {
        actions_.emplace_back(Disconnect{});
        return connect_failed(now, {.text = refused.reason});
    }
    if (!refused.rejoin)
        return end_by_itself(refused.status, fmt::format("refused by {}: {}", coordinator_name(), refused.reason));
    give_incarnation_up(now, refused.reason);
}

void Member::give_incarnation_up(Time now, const std::string& reason) {
    if (runs_) return fence(now, reason);
    rejoin(now);
}

void Member::on_assigned(Time now, const Assigned& assigned) {
    if (assigned.stamp.round <= round_ || runs_) return;
    round_ = assigned.stamp.round;
    running_ = RunningRound{assigned.group_rank, assigned.group_world_size};
    progress_ = assigned.progress;
    assigned_at_ = now;
    last_group_rank_ = assigned.group_rank;
    report_.reset();
    if (leaving_) return round_over(now, false, std::nullopt);
    runs_ = true;
    actions_.emplace_back(StartWorkers{assigned});
}

void Member::on_stop(Time now, const StopRound& stop) {
    if (stop.stamp.round < round_) return;
    if (stop.stamp.round == round_) {
        if (runs_ && stop.at_once)
            actions_.emplace_back(KillWorkers{stop.reason, stop.signal});
        else if (runs_)
            actions_.emplace_back(StopWorkers{stop.reason, stop.lost, stop.signal, stop.timed_out, stop.unclear,
                                              stop.for_failure, stop.hung});
        else
            actions_.emplace_back(CloseRound{});
        return;
    }
    if (runs_) return fence(now, "a later round than this node's was stopped");
    round_ = stop.stamp.round;  // assigned and stopped while this node was cut off
    round_over(now, false, std::nullopt);
}

// --- the lease ------------------------------------------------------------------------------------------------------

void Member::renew(Time now, std::uint64_t beat) {
    const Time asked{Milliseconds(beat)};
    if (asked <= now) lease_from_ = std::max(lease_from_, asked);
}

void Member::check_lease(Time now) {
    if (!welcomed_ || fenced_ || lease_over_ || end_when_stopped_ || now < lease_from_ + lease()) return;
    if (accepts_nothing_ && options_.fixed_coordinator) return lose_coordinator();
    if (runs_) return fence(now, fmt::format("no message from {} for {:g} s", coordinator_name(), seconds(lease())));
    const bool has_failed = report_ && (report_->phase != Report::Phase::over || !report_->succeeded);
    if (has_failed || leaving_) return rejoin(now);
    lease_over_ = true;  // no worker runs, and a coordinator may still accept the success, or have placed this node
    give_up_at_ = std::min(give_up_at_, now + options_.rejoin_timeout);
    next_progress_ = now + options_.progress;
    dial(now);
}

void Member::fence(Time now, const std::string& reason) {
    fenced_ = true;
    give_up_at_ = std::min(give_up_at_, now + options_.rejoin_timeout);
    actions_.emplace_back(KillWorkers{reason});
}

void Member::fenced_by_guard(Time now, const std::string& reason) {
    if (!ended_ && !fenced_ && runs_) fence(now, reason);
}

void Member::rejoin(Time now) {
    ++incarnation_;
    welcomed_ = fenced_ = lease_over_ = false;
    coordinator_ = 0;  // without workers, another coordinator of this epoch is harmless
    round_ = -1;
    running_.reset();
    report_.reset();
    give_up_at_ = std::min(give_up_at_, now + options_.rejoin_timeout);
    next_progress_ = now + options_.progress;
    if (leaving_) return end({leaving_->status, leaving_->reason, {}});
    dial(now);
}

// --- from the agent --------------------------------------------------------------------------------------------

void Member::send_report() {
    if (!report_ || link_ != Link::welcome || fenced_) return;
    report_->stamp = stamp();
    send(*report_);
}

/// After a freeze, exits of workers may be the first events. Checks the lease first: the guard has killed those
/// workers.
void Member::failed(Time now, const Cause& cause) {
    check_lease(now);
    if (ended_ || fenced_ || !runs_) return;
    report_ =
        Report{stamp(), Report::Phase::failed, false, cause, options_.record.store_port, options_.record.jax_port};
    send_report();
}

void Member::round_over(Time now, bool succeeded, const std::optional<Cause>& cause, const RankOutcomes& outcomes) {
    check_lease(now);
    if (ended_) return;
    runs_ = false;
    if (end_when_stopped_) return end(std::move(*end_when_stopped_));
    if (fenced_) return rejoin(now);
    report_ =
        Report{stamp(), Report::Phase::over, succeeded, cause, options_.record.store_port, options_.record.jax_port};
    report_->outcomes = outcomes;
    send_report();
}

void Member::leave(Leave::Scope scope, std::int32_t status, const std::string& reason, bool workers_too) {
    if (ended_ || leaving_) return;
    leaving_ = Leave{stamp(), scope, status, reason, workers_too};
    leaves_first_ = !report_;
    if (!runs_ && (!welcomed_ || (link_ != Link::welcome && round_ < 0))) return end({status, reason, {}});
    if (link_ == Link::welcome) send(*leaving_);
}

void Member::leave_at_once() {
    if (ended_ || !leaving_ || leaving_->at_once) return;
    leaving_->at_once = true;
    if (link_ == Link::welcome) return send(*leaving_);
    end({leaving_->status, leaving_->reason, {}});
}

void Member::gone() {
    if (ended_) return;
    ended_ = true;
    if (link_ == Link::open || link_ == Link::welcome) send(Gone{});
    if (link_ != Link::down) actions_.emplace_back(Disconnect{});
    link_ = Link::down;
}

// --- the end --------------------------------------------------------------------------------------------------------

/// Workers that still run are killed first.
void Member::end(EndJob how) {
    if (ended_) return;
    if (runs_) {
        if (!end_when_stopped_ && !fenced_) actions_.emplace_back(KillWorkers{how.reason});
        end_when_stopped_ = std::move(how);
        return;
    }
    ended_ = true;
    if (link_ != Link::down) actions_.emplace_back(Disconnect{});
    link_ = Link::down;
    actions_.emplace_back(std::move(how));
}

/// Ends without the job's verdict. A leaving node ends with its own status.
void Member::end_by_itself(std::int32_t status, const std::string& reason) {
    if (leaving_) return end({leaving_->status, leaving_->reason, {}});
    end({status, reason, {}});
}

void Member::lose_coordinator() {
    end_by_itself(exit_status::kCoordinatorLost, fmt::format("{} was lost", coordinator_name()));
}

// --- time -----------------------------------------------------------------------------------------------------------

void Member::tick(Time now) {
    if (ended_ || end_when_stopped_) return;
    check_lease(now);
    if (ended_) return;
    const bool is_waited_for = round_ >= 0 && !(leaving_ && leaving_->at_once);
    if (leaving_ && link_ != Link::welcome && !is_waited_for) return end({leaving_->status, leaving_->reason, {}});
    if (now >= give_up_at_) {
        if (ever_welcomed_) return lose_coordinator();
        return end_by_itself(exit_status::kRendezvousTimeout,
                             fmt::format("rendezvous timed out after {:g} s: no answer from {}",
                                         seconds(options_.join_timeout), unreachable()));
    }
    if (now >= next_progress_) {
        next_progress_ = now + options_.progress;
        actions_.emplace_back(PrintLine{fmt::format("waiting for {}, {:.0f} s more at most", unreachable(),
                                                    std::chrono::duration<double>(give_up_at_ - now).count()),
                                        true});
    }
    keep_link(now);
}

Time Member::deadline() const {
    if (ended_ || end_when_stopped_) return kNever;
    Time due = std::min(give_up_at_, next_progress_);
    if (welcomed_ && !fenced_ && !lease_over_) due = std::min(due, lease_from_ + lease());
    if (fenced_ && runs_) return due;
    switch (link_) {
        case Link::down: return std::min(due, dial_at_);
        case Link::dialing: return std::min(due, dialed_at_ + dial_timeout());
        case Link::open:
        case Link::welcome: return std::min({due, next_beat_, last_received_ + patience_});
    }
    return due;
}

}  // namespace dlaunch::rendezvous
