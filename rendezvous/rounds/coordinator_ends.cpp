/// How a round ends, what follows from it, and how the job ends.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kMostLinger = Milliseconds(60'000);  // a node that beats and never reads the verdict holds no process

/// A failed job never ends with 0, whatever a node reports.
int failure_status(int status) { return status > 0 && status <= 255 ? status : 1; }

}  // namespace

Milliseconds Coordinator::lasted(Time until) const {
    return std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(until - round_began_));
}

// --- a round ends ---------------------------------------------------------------------------------------------------

/// After a change in a running or adopted round.
void Coordinator::review(Time now) {
    if (phase_ == Phase::adopting) {
        if (!all_members_came()) return;
        phase_ = Phase::running;
        if (roster_.leaving() > 0)
            for (const auto& [id, node] : roster_.all())
                if (node.leaving && node.state == MemberState::running && !about_to_end())
                    return stop_round(now, fmt::format("{} on {}", node.leaving->reason, node.record.host));
    }
    if (phase_ != Phase::running) return;
    const Causes& causes = blame_.causes();
    if (!causes.empty()) return stop_round(now, causes.first().summary, causes.first().lost);
    if (!blame_.lost_host().empty()) return stop_round(now, blame_.lost_host() + " was lost");
    if (roster_.count(MemberState::stopped) > 0) return send_stops(now, "a node has stopped its workers");
    if (round_has_stopped()) finish(now, 0, {}, false);
}

void Coordinator::on_report(Time now, Node& node, const Report& report) {
    if (node.state != MemberState::running) return;  // reported before
    const bool goes_alone = node.leaving && phase_ == Phase::running;
    if (report.cause && !goes_alone) blame_.failed(now, node.record.id, *report.cause);
    if (report.phase == Report::Phase::over)
        roster_.set_state(node, report.succeeded ? MemberState::done : MemberState::stopped);

    if (node.leaving && !blame_.decided() && !failure_ends_job() && node.state != MemberState::running) {
        release(now, node);  // it need not wait for the other nodes' grace
        if (phase_ == Phase::stopping && round_has_stopped()) return judge(now);
        return goes_alone ? review(now) : void();
    }
    if (goes_alone) return;
    if (phase_ == Phase::stopping && round_has_stopped()) return judge(now);
    if (phase_ != Phase::running && phase_ != Phase::adopting) return;
    if (report.phase == Report::Phase::failed || !report.succeeded)
        return phase_ == Phase::running && blame_.causes().empty()
                   ? send_stops(now, fmt::format("{} has stopped its workers", node.record.host))
                   : review(now);
    if (round_has_stopped()) review(now);
}

void Coordinator::stop_round(Time now, const std::string& reason, const LostRanks& lost) {
    blame_.stopped();
    send_stops(now, reason, lost);
}

/// A member that has stopped its workers unasked was asked by a predecessor: what failed before has not been reported
/// here yet, and counts.
void Coordinator::send_stops(Time now, const std::string& reason, const LostRanks& lost) {
    phase_ = Phase::stopping;
    restart_reason_ = reason;
    stopped_for_ = lost;
    newcomers_until_ = kNever;
    if (blame_.causes().empty() && blame_.lost_host().empty()) restarts_.on_change(lasted(now));
    record();
    Send send{{}, StopRound{stamp(), reason, lost}};
    for (const auto& [id, node] : roster_.all())
        if (node.state != MemberState::none && node.connection) send.to.push_back(node.connection);
    if (!send.to.empty()) actions_.emplace_back(std::move(send));
    if (round_has_stopped()) judge(now);
}

/// No worker of the round lives: what follows?
void Coordinator::judge(Time now) {
    round_over_ = true;
    switch (outcome()) {
        case Blame::Outcome::verdict: return end_as_decided(now);
        case Blame::Outcome::failure: return judge_failure(now);
        case Blame::Outcome::loss: return judge_loss(now);
        case Blame::Outcome::change: record(); return next_round(now, Milliseconds(0));
    }
}

void Coordinator::judge_failure(Time now) {
    using Kind = RestartDecision::Kind;
    const Cause cause = blame_.causes().first();
    const RestartDecision decision = restarts_.on_failure({lasted(blame_.caused_at()), cause.kind, cause.permanent});
    if (decision.kind == Kind::crash_loop) return finish(now, exit_status::kGiveUp, restarts_.told(decision), true);
    if (decision.kind != Kind::restart)
        return finish(now, failure_status(cause.status), cause.record.empty() ? cause.summary : std::string(), true);
    restart_reason_ = cause.summary;
    record();
    report_restart(cause, restarts_.told(decision));
    next_round(now, decision.pause);
}

/// No restart is spent; but rounds that losses end quickly pause, and end the job, as failures do.
void Coordinator::judge_loss(Time now) {
    const std::string host = blame_.lost_host();
    const RestartDecision decision = restarts_.on_loss(lasted(blame_.lost_at()));
    if (decision.kind == RestartDecision::Kind::crash_loop)
        return finish(now, exit_status::kGiveUp,
                      fmt::format("{}, the latest by that of {}", restarts_.told(decision), host),
                      !blame_.causes().empty());
    const std::string pause = pause_text(decision.pause);
    record();
    if (!blame_.causes().empty() || !pause.empty())
        broadcast(Tell{stamp(), fmt::format("restarting all workers{}, as {} was lost", pause, host)});
    next_round(now, decision.pause);
}

void Coordinator::next_round(Time now, Milliseconds pause) {
    not_before_ = std::max(not_before_, now + pause);
    gather(now);
}

/// Stopped members already know the cause. Members that had finished or had a failure of their own, and spares, do not.
void Coordinator::report_restart(const Cause& cause, const std::string& what) {
    Send to_stopped{{}, Tell{stamp(), what}}, to_others{{}, Tell{stamp(), cause.summary + ": " + what}};
    for (const auto& [id, node] : roster_.all())
        if (node.connection)
            (node.state == MemberState::stopped && !blame_.causes().is_later(id) ? to_stopped : to_others)
                .to.push_back(node.connection);
    for (Send* send : {&to_stopped, &to_others})
        if (!send->to.empty()) actions_.emplace_back(std::move(*send));
}

// --- the job ends ---------------------------------------------------------------------------------------------------

void Coordinator::finish(Time now, int status, std::string reason, bool with_causes) {
    phase_ = Phase::over;
    verdict_ = Verdict{status, std::move(reason), with_causes ? blame_.causes().records() : std::vector<std::string>{}};
    over_since_ = now;
    record();
    broadcast(End{stamp(), *verdict_});
}

void Coordinator::end_as_decided(Time now) {
    const Verdict decided = *blame_.decided();
    finish(now, decided.status, decided.reason, blame_.with_causes());
}

/// Takes effect when the round has stopped.
void Coordinator::decide(int status, const std::string& reason, bool with_causes) {
    blame_.decide({status, reason, {}}, with_causes, failure_ends_job());
    if (phase_ == Phase::stopping) record();
}

/// Until every connection that lives has been closed by its member, or was silent for a node time-out.
void Coordinator::tick_over(Time now) {
    if (now >= next_look_) {
        next_look_ = now + job_.node_timeout / 20;
        const bool all_silent = roster_.silent(now, job_.node_timeout).size() == roster_.size();
        lingered_ = now - over_since_ >= kMostLinger || (all_silent && now - over_since_ >= job_.node_timeout);
    }
}

/// Spares and members of a predecessor may still come, for as long as they may look for its successor.
bool Coordinator::finished() const {
    return phase_ == Phase::over && (lingered_ || (roster_.size() == 0 && now_ >= await_until_));
}

/// A job of fixed size that lost a member, has no spare, and no restart left. A host whose guard starts the agent again
/// is not lost.
void Coordinator::end_if_hopeless(Time now) {
    const bool is_whole = roster_.size() >= static_cast<std::size_t>(job_.min_nodes);
    if (job_.min_nodes != job_.max_nodes || round_ < 0 || is_whole || lost_hosts_.empty() || !restarts_.spent()) return;
    const bool returns = std::any_of(lost_hosts_.begin(), lost_hosts_.end(),
                                     [this](const std::string& host) { return returning_.contains(host); });
    if (returns || phase_ == Phase::over || phase_ == Phase::adopting) return;
    const std::string reason = fmt::format("{} was lost: {} of {} nodes, no spare and no restart left",
                                           lost_hosts_.back(), roster_.size(), job_.min_nodes);
    if (phase_ == Phase::gathering) return finish(now, exit_status::kRendezvousTimeout, reason, false);
    decide(exit_status::kRendezvousTimeout, reason, false);
}

void Coordinator::end_job(Time now, int status, const std::string& reason, bool at_once) {
    if (!may_act(now) || phase_ == Phase::over) return;
    if (blame_.decided()) {
        if (at_once && phase_ == Phase::stopping) broadcast(StopRound{stamp(), restart_reason_, stopped_for_, true});
        return;
    }
    decide(status, reason, true);
    if (phase_ == Phase::stopping) return;
    if (phase_ == Phase::running || roster_.count(MemberState::running) > 0) return stop_round(now, reason);
    end_as_decided(now);
}

// --- a node leaves --------------------------------------------------------------------------------------------------

bool Coordinator::enough_without(const Node& leaver) const {
    const std::size_t stay = roster_.size() - roster_.leaving() - (leaver.leaving ? 0 : 1);
    return stay >= static_cast<std::size_t>(job_.min_nodes);
}

/// The round is being stopped for a failure after which nothing is tried again. A leaver waits for that end, whose
/// status stands, unless a node turns out to be lost.
bool Coordinator::failure_ends_job() const {
    return phase_ == Phase::stopping && !blame_.decided() && blame_.counts() &&
           (restarts_.spent() || blame_.causes().first().permanent);
}

void Coordinator::on_leave(Time now, Node& node, const Leave& leave) {
    if (leave.at_once && phase_ == Phase::stopping && (blame_.decided() || failure_ends_job()))
        broadcast(StopRound{stamp(), restart_reason_, stopped_for_, true});
    if (node.leaving || phase_ == Phase::over) return;
    if (leave.workers_too && phase_ == Phase::stopping && blame_.excuse_same_moment(now)) {
        restart_reason_ = fmt::format("{} on {}", leave.reason, node.record.host);
        record();
        broadcast(Tell{stamp(), restart_reason_ + ": what failed in the moment before does not count"});
    }
    const bool failed_first = failure_ends_job();
    const bool is_elastic = job_.min_nodes < job_.max_nodes;
    roster_.set_leaving(node, leave);
    const bool spare = node.state == MemberState::none && (phase_ == Phase::running || phase_ == Phase::stopping);
    const bool runs = node.state == MemberState::running;
    const bool others_go_on = !node.record.hosts_coordinator && leave.scope != Leave::Scope::job &&
                              (spare || leave.scope == Leave::Scope::node ||
                               (is_elastic && (phase_ == Phase::gathering || enough_without(node))));
    std::string reason = fmt::format("{} on {}", leave.reason, node.record.host);
    if (!others_go_on) {
        if (leave.scope == Leave::Scope::node_if_enough && is_elastic)
            reason += enough_without(node) ? ", which hosts the meeting: the job ends with it"
                                           : ": too few nodes are left, the job ends";
        if (!blame_.decided())
            decide(leave.status, reason, leave.scope == Leave::Scope::job || !blame_.causes().empty());
        if (phase_ == Phase::running || (phase_ == Phase::adopting && roster_.count(MemberState::running) > 0))
            return stop_round(now, reason);
        if (phase_ != Phase::stopping) {
            const Verdict decided = *blame_.decided();
            finish(now, decided.status, decided.reason, false);
        }
        return;
    }
    if (!runs && !failed_first) release(now, node);
    if (phase_ == Phase::running && runs) {
        if (about_to_end() && leave.scope == Leave::Scope::node_if_enough)
            blame_.excuse();
        else
            stop_round(now, reason);
    }
    if (phase_ == Phase::gathering) try_start(now);
}

}  // namespace dlaunch::rendezvous
