#include "rendezvous/rounds/member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kFirstDial = Milliseconds(250);
constexpr int kMostDoublings = 10;
constexpr int kMostPatience = 3;  // doublings
constexpr auto kMostSpread = Milliseconds(250);

std::uint64_t number_of(Time time) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count());
}

double seconds(Milliseconds time) { return static_cast<double>(time.count()) / 1e3; }

}  // namespace

Member::Member(Options options, Time now, std::uint64_t jitter)
    : options_(std::move(options)),
      random_(jitter),
      give_up_at_(now + options_.join_timeout),
      next_progress_(now + options_.progress) {
    dial(now);
}

std::vector<Member::Action> Member::take_actions() { return std::exchange(actions_, {}); }

void Member::send(Message message) { actions_.emplace_back(SendOut{std::move(message)}); }

/// Up to a quarter longer.
Milliseconds Member::jittered(Milliseconds time) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return time + time * static_cast<int>(random_ >> 56) / 1024;
}

/// A lease does not wait for a lost SYN to be sent again, which takes the kernel a second. Of several addresses the
/// next one is tried soon, as one that is not served may not answer at all; again and again they have more time.
Milliseconds Member::dial_timeout() const {
    if (in_) return std::clamp(node_timeout() / 10, Milliseconds(200), options_.dial_timeout);
    return std::min(options_.dial_timeout, kFirstDial * (1 << std::min(dials_, kMostDoublings)));
}

/// How long a connection may stay without a message. A coordinator that is late because many members dial at once gets
/// more time each time, so that dialing again does not keep it late.
Milliseconds Member::patience() const {
    if (link_ == Link::welcome) return redial_silence(node_timeout());
    return options_.answer_timeout * (1 << std::min(unanswered_, kMostPatience));
}

// --- the link -------------------------------------------------------------------------------------------------------

void Member::dial(Time now) {
    dials_ = link_ == Link::dialing ? dials_ + 1 : 0;
    link_ = Link::dialing;
    dialed_at_ = now;
    next_beat_ = kNever;
    actions_.emplace_back(Connect{});
}

void Member::connected(Time now) {
    if (ended_ || link_ != Link::dialing) return;
    link_ = Link::open;
    hung_up_ = false;
    last_received_ = now;
    patience_ = jittered(patience());
    ++unanswered_;
    last_failure_ = "it does not answer as a coordinator does";
    if (running_) running_->alive = runs_;
    send(Hello{options_.version, options_.job_id, incarnation_});
    send(Join{stamp(), options_.record, last_group_rank_, running_, latest_round_, number_of(now), options_.told, job_,
              coordinator_});
}

void Member::connect_failed(Time now, const ConnectFailure& failure) {
    if (ended_) return;
    link_ = Link::down;
    last_failure_ = failure.text;
    if (failure.stranger && !was_in_)
        return end_by_itself(exit_status::kRefused,
                             fmt::format("no coordinator: {}, expected a dlaunch that hosts this job", failure.text));
    if ((failure.refused || failure.stranger) && was_in_ && options_.fixed_coordinator) return lose_coordinator(now);
    retry_ = std::clamp(retry_ * 2, options_.first_retry, options_.most_retry);
    dial_at_ = now + jittered(retry_);
}

/// A cut. All members of a coordinator may have lost it at this moment: they dial again spread over a part of the
/// lease.
void Member::closed(Time now, bool by_its_end) {
    if (ended_) return;
    hung_up_ = by_its_end && link_ == Link::welcome;
    const bool answered = link_ == Link::welcome;
    link_ = Link::down;
    next_beat_ = kNever;
    const Milliseconds spread = std::min(lease() / 32, kMostSpread);
    dial_at_ = now + (answered ? (jittered(spread) - spread) * 4 : jittered(std::max(retry_, options_.most_retry)));
}

void Member::moved(Time now, std::uint64_t epoch) {
    if (ended_ || (fenced_ && runs_) || (link_ == Link::welcome && epoch <= epoch_)) return;
    retry_ = Milliseconds(0);
    unanswered_ = 0;
    dial(now);
}

/// Dials again where it is time to.
void Member::keep_link(Time now) {
    if (fenced_ && runs_) return;  // this incarnation sends nothing more
    switch (link_) {
        case Link::down:
            if (now >= dial_at_) dial(now);
            break;
        case Link::dialing:
            if (now - dialed_at_ >= dial_timeout()) dial(now);
            break;
        case Link::open:
        case Link::welcome:
            if (now - last_received_ < patience_) break;
            if (link_ == Link::open && !std::exchange(reported_silence_, true))
                actions_.emplace_back(TellUser{fmt::format("waiting for {}", unreachable())});
            dial(now);
            break;
    }
    if (link_ == Link::welcome && now >= next_beat_) {
        next_beat_ = now + jittered(beat_interval(node_timeout()) * 4 / 5);
        send(Beat{stamp(), number_of(now)});
    }
}

void Member::lose_coordinator(Time) {
    end_by_itself(exit_status::kCoordinatorLost, fmt::format("{} was lost", coordinator_name()));
}

// --- messages of the coordinator
// --------------------------------------------------------------------------------------

bool Member::counts(const Stamp& from) const {
    return link_ == Link::welcome && from.epoch == epoch_ && from.incarnation == coordinator_;
}

void Member::received(Time now, const Message& message) {
    if (!ended_) check_lease(now);  // after a frozen time, bytes in the socket are read before any timer fires
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
    if (const auto* beat = std::get_if<Beat>(&message)) renew(now, beat->number);
    if (const auto* assigned = std::get_if<Assigned>(&message)) on_assigned(now, *assigned);
    if (const auto* stop = std::get_if<StopRound>(&message)) on_stop(now, *stop);
    if (const auto* tell = std::get_if<Tell>(&message)) actions_.emplace_back(TellUser{tell->text});
    if (const auto* over = std::get_if<End>(&message))
        end({over->verdict.status, over->verdict.reason, over->verdict.records});
}

void Member::on_welcome(Time now, const Welcome& welcome) {
    if (welcome.stamp.epoch < epoch_) {  // it has been replaced and does not know it
        actions_.emplace_back(Disconnect{});
        link_ = Link::down;
        dial_at_ = now + jittered(options_.most_retry);
        return;
    }
    if (coordinator_ != 0 && welcome.stamp.epoch == epoch_ && welcome.stamp.incarnation != coordinator_)
        return give_incarnation_up(now, "another coordinator of the same epoch has answered");
    link_ = Link::welcome;
    if (was_in_ && !in_) actions_.emplace_back(TellUser{"joined the job again"});
    in_ = was_in_ = true;
    lapsed_ = false;
    epoch_ = welcome.stamp.epoch;
    coordinator_ = welcome.stamp.incarnation;
    coordinator_host_ = welcome.host;
    latest_round_ = std::max(latest_round_, welcome.stamp.round);
    job_ = welcome.job;
    last_received_ = now;
    patience_ = jittered(patience());
    next_beat_ = now + jittered(beat_interval(node_timeout()) * 4 / 5);
    retry_ = Milliseconds(0);
    unanswered_ = 0;
    give_up_at_ = next_progress_ = kNever;
    renew(now, welcome.beat);
    send_report();
    if (leaving_) {
        leaving_->stamp = stamp();
        send(*leaving_);
    }
}

void Member::on_refused(Time now, const Refused& refused) {
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
    running_ = RunningRound{assigned.group_rank, assigned.group_world_size, true, assigned.progress};
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
            actions_.emplace_back(KillWorkers{stop.reason});
        else if (runs_)
            actions_.emplace_back(StopWorkers{stop.reason, stop.lost});
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
    if (!in_ || fenced_ || lapsed_ || end_when_stopped_ || now < lease_from_ + lease()) return;
    if (hung_up_ && options_.fixed_coordinator) return lose_coordinator(now);
    if (runs_) return fence(now, fmt::format("no message from {} for {:g} s", coordinator_name(), seconds(lease())));
    const bool has_succeeded = report_ && report_->phase == Report::Phase::over && report_->succeeded;
    if (!has_succeeded || leaving_) return rejoin(now);
    lapsed_ = true;  // nothing runs here, and the coordinator may still accept the success
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
    in_ = fenced_ = lapsed_ = false;
    coordinator_ = 0;  // nothing runs that another coordinator of this epoch could harm
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

/// After a frozen time the workers' exits may be seen before anything else: the guard killed them then.
void Member::failed(Time now, const Cause& cause) {
    check_lease(now);
    if (ended_ || fenced_ || !runs_) return;
    report_ = Report{stamp(), Report::Phase::failed, false, cause};
    send_report();
}

void Member::round_over(Time now, bool succeeded, const std::optional<Cause>& cause) {
    check_lease(now);
    if (ended_) return;
    runs_ = false;
    if (end_when_stopped_) return end(std::move(*end_when_stopped_));
    if (fenced_) return rejoin(now);
    report_ = Report{stamp(), Report::Phase::over, succeeded, cause};
    send_report();
}

void Member::leave(Leave::Scope scope, std::int32_t status, const std::string& reason, bool workers_too) {
    if (ended_ || leaving_) return;
    leaving_ = Leave{stamp(), scope, status, reason, workers_too};
    if (!runs_ && (!in_ || (link_ != Link::welcome && round_ < 0))) return end({status, reason, {}});
    if (link_ == Link::welcome) send(*leaving_);
}

void Member::hurry() {
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

/// Without a verdict of the job. A leaving node ends with its own status.
void Member::end_by_itself(std::int32_t status, const std::string& reason) {
    if (leaving_) return end({leaving_->status, leaving_->reason, {}});
    end({status, reason, {}});
}

std::string Member::coordinator_name() const {
    if (coordinator_host_.empty()) return "the coordinator at " + options_.coordinator;
    return fmt::format("the coordinator on {} ({})", coordinator_host_, options_.coordinator);
}

std::string Member::unreachable() const {
    return fmt::format("{}{}{}", coordinator_name(), last_failure_.empty() ? "" : ": ", last_failure_);
}

// --- time -----------------------------------------------------------------------------------------------------------

void Member::tick(Time now) {
    if (ended_ || end_when_stopped_) return;
    check_lease(now);
    if (ended_) return;
    const bool is_waited_for = round_ >= 0 && !(leaving_ && leaving_->at_once);
    if (leaving_ && link_ != Link::welcome && !is_waited_for) return end({leaving_->status, leaving_->reason, {}});
    if (now >= give_up_at_) {
        if (was_in_) return lose_coordinator(now);
        return end_by_itself(exit_status::kRendezvousTimeout,
                             fmt::format("rendezvous timed out after {:g} s: no answer from {}",
                                         seconds(options_.join_timeout), unreachable()));
    }
    if (now >= next_progress_) {
        next_progress_ = now + options_.progress;
        actions_.emplace_back(TellUser{fmt::format("waiting for {}", unreachable())});
    }
    keep_link(now);
}

Time Member::deadline() const {
    if (ended_ || end_when_stopped_) return kNever;
    Time due = std::min(give_up_at_, next_progress_);
    if (in_ && !fenced_ && !lapsed_) due = std::min(due, lease_from_ + lease());
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
