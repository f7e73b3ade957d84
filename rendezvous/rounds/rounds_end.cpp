/// The end of a round, the decision that follows, and the end of the job.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/named_host.hpp"
#include "rendezvous/rounds/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kMostLinger = Milliseconds(60'000);   // limit for a node that beats and never reads the verdict
constexpr auto kLeastReturn = Milliseconds(10'000);  // time for a guard to restart its agent

/// A failed job never ends with 0, whatever a node reports.
int failure_status(int status) { return status > 0 && status <= 255 ? status : 1; }

}  // namespace

Milliseconds Rounds::lasted(Time until) const {
    return std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(until - round_began_));
}

// --- a round ends ---------------------------------------------------------------------------------------------------

/// Called after each change in a running or adopted round.
void Rounds::review(Time now) {
    if (phase_ == Phase::adopting) {
        if (!all_joined()) return;
        adopted(now);
    }
    if (phase_ != Phase::running) return;
    const Causes& causes = blame_.causes();
    if (!causes.empty()) return stop(now, causes.first().summary, causes.first().lost);
    if (roster_.count(MemberState::stopped) > 0) return send_stops(now, "a node has stopped its workers");
    if (has_stopped()) finish(now, 0, {}, false);
}

void Rounds::reported(Time now, Node& node, const Report& report) {
    if (report.store_port > 0) node.record.store_port = report.store_port;
    if (report.jax_port > 0) node.record.jax_port = report.jax_port;
    if (node.state != MemberState::running) return;  // reported before
    const bool goes_alone = node.leaving && (phase_ == Phase::running || phase_ == Phase::adopting);
    if (report.cause && report.succeeded)
        blame_.succeeded(node.record.id, *report.cause);
    else if (report.cause && !goes_alone)
        blame_.failed(now, node.record.id, *report.cause);
    if (report.phase == Report::Phase::over) {
        blame_.ended(report.outcomes);
        roster_.set_state(node, report.succeeded ? MemberState::done : MemberState::stopped);
    }

    if (is_settling()) {
        if (report.phase == Report::Phase::over && node.last_rank) account_for(now, *node.last_rank);
        if (phase_ == Phase::adopting) return review(now);
        return phase_ == Phase::stopping && has_stopped() ? judge(now) : void();
    }
    if (node.leaving && !blame_.decided() && !failure_ends_job() && node.state != MemberState::running) {
        release(now, node);  // without waiting for the other nodes' grace
        if (phase_ == Phase::stopping && has_stopped()) return judge(now);
        return goes_alone ? review(now) : void();
    }
    if (goes_alone) return;
    if (phase_ == Phase::stopping && has_stopped()) return judge(now);
    if (phase_ != Phase::running) return;
    if (report.phase == Report::Phase::failed || !report.succeeded)
        return blame_.causes().empty() ? send_stops(now, fmt::format("{} has stopped its workers", node.record.host))
                                       : review(now);
    if (has_stopped()) review(now);
}

void Rounds::stop(Time now, const std::string& reason, const LostRanks& lost) {
    blame_.stopped();
    send_stops(now, reason, lost);
}

/// Unlike stop(), excuses no failures. A member that stopped its workers without a StopRound from this coordinator
/// obeyed the predecessor's. The failure behind that stop is reported later, and counts.
void Rounds::send_stops(Time now, const std::string& reason, const LostRanks& lost) {
    phase_ = Phase::stopping;
    restart_reason_ = reason;
    stopped_for_ = lost;
    admission_.admitted();
    if (blame_.causes().empty() && blame_.lost_host().empty()) restarts_.on_change(lasted(now));
    record();
    outbox_.send(roster_, order_to_stop(), [](const Node& node) { return node.state != MemberState::none; });
    if (has_stopped()) judge(now);
}

StopRound Rounds::order_to_stop(bool at_once) const {
    StopRound order{stamp(), restart_reason_, stopped_for_, at_once};
    if (const auto& decided = blame_.decided()) {
        order.signal = exit_status::signal_of(decided->status);
        order.timed_out = decided->status == exit_status::kHang;
    }
    if (blame_.causes().empty()) return order;
    order.unclear = blame_.causes().first().strength >= Cause::kUnclear;
    order.for_failure = restart_reason_ == blame_.causes().first().summary;
    order.hung = blame_.causes().first().status == exit_status::kHang;
    return order;
}

/// Called when no worker of the round lives.
void Rounds::judge(Time now) {
    round_over_ = true;
    switch (rules_.outcome(blame_)) {
        case Blame::Outcome::verdict: return end_as_decided(now);
        case Blame::Outcome::failure: return judge_failure(now);
        case Blame::Outcome::loss: return judge_loss(now);
        case Blame::Outcome::change: record(); return next_round(now, Milliseconds(0));
    }
}

/// Then the part of all ranks was done, and a rank that has lost a peer afterwards misses none of them.
bool Rounds::most_have_finished() const {
    std::int64_t ranks = 0;
    for (const auto& [id, node] : roster_.all())
        if (node.survivor) ranks += node.record.workers();
    const std::int64_t finished = count_of(blame_.outcomes().finished);
    return finished > ranks - finished;
}

/// A message about a lost peer may not name the rank, and the named rank's own message may be on another node: judges
/// the causes of all nodes together.
void Rounds::find_lost_peer() {
    if (blame_.causes().first().strength < Cause::kUnclear) return;
    if (blame_.causes().first().strength > Cause::kUnclear) find_lost_peer_by_host();
    if (!options_.judge) return;
    if (auto cause = options_.judge(add_causes({}), options_.one_console)) blame_.judged(std::move(*cause));
}

void Rounds::find_lost_peer_by_host() {
    if (const auto named = rank_named_by_host(blame_.causes(), roster_))
        blame_.name(named->rank, fmt::format("rank {} ({}) was named as lost by its peers", named->rank, named->host));
    else if (!most_have_finished())
        blame_.add_early_exits();
}

void Rounds::judge_failure(Time now) {
    using Kind = RestartDecision::Kind;
    find_lost_peer();
    const Cause cause = blame_.causes().first();
    const RestartDecision decision = restarts_.on_failure({lasted(blame_.caused_at()), cause.kind, cause.permanent});
    if (decision.kind == Kind::crash_loop) return finish(now, exit_status::kGiveUp, restarts_.line(decision), true);
    if (decision.kind != Kind::restart)
        return finish(now, failure_status(cause.status), cause.record.empty() ? cause.summary : std::string(), true);
    restart_reason_ = cause.summary;
    record();
    tell(Notice{stamp(), restarts_.line(decision), false, cause.summary, cause.message});
    next_round(now, decision.pause);
}

/// A loss spends no restart. Quick losses in a row lead to pauses and then end the job, as quick failures do.
void Rounds::judge_loss(Time now) {
    const std::string host = blame_.lost_host();
    const RestartDecision decision = restarts_.on_loss(lasted(blame_.lost_at()));
    if (decision.kind == RestartDecision::Kind::crash_loop)
        return finish(now, exit_status::kGiveUp,
                      fmt::format("{}; the latest lost node: {}", restarts_.line(decision), host),
                      !blame_.causes().empty());
    const std::string pause = pause_text(decision.pause);
    record();
    if (!blame_.causes().empty() || !pause.empty())
        tell(Notice{stamp(), fmt::format("restarting all workers{}, as {} was lost", pause, host)});
    next_round(now, decision.pause);
}

void Rounds::next_round(Time now, Milliseconds pause) {
    gathering_.not_before(now + pause);
    gather(now);
}

// --- a node is lost -------------------------------------------------------------------------------------------------

void Rounds::evict(Time now, Node& gone, bool returns) {
    if (gone.connection) outbox_.close(gone.connection);
    admission_.gone(gone.record.id);
    const Node node = roster_.remove(now, gone);
    const std::string& host = node.record.host;
    if (phase_ == Phase::over) return;
    if (phase_ == Phase::gathering || node.survivor) lost_hosts_.lost(host);  // else a spare
    if (returns) lost_hosts_.returns(host, now + std::max(job_.node_timeout, kLeastReturn));
    const bool served_store = node.state == MemberState::done && node.last_rank == 0;
    const bool was_needed =
        node.state == MemberState::running || (served_store && roster_.count(MemberState::running) > 0);
    note_gone(node, was_needed);
    if (was_needed && !node.leaving) cooldowns_.lost(now, host);
    if (phase_ == Phase::gathering) {
        end_if_hopeless(now);
        return phase_ == Phase::gathering ? try_start(now) : void();
    }
    if (was_needed) lost(now, node);
}

/// A successor must not count the node as one of the round's members, and must not wait for it.
void Rounds::note_gone(const Node& node, bool was_needed) {
    if (node.state == MemberState::none || !node.last_rank) return;
    removed_.insert(*node.last_rank);
    if (is_settling()) adoption_.accounted_for(*node.last_rank);
    const bool has_failed = node.state == MemberState::stopped && !node.leaving;
    if (has_failed || was_needed || phase_ == Phase::stopping) return;
    finished_.insert(*node.last_rank);
    record();
}

/// Handles the loss of a node that the round needs for its workers or its store. A leaving node does not stop the
/// round.
void Rounds::lost(Time now, const Node& node) {
    end_if_hopeless(now);
    const bool is_first = blame_.lost_host().empty();
    blame_.lost(node.last_received, node.record.host);
    if (is_first && phase_ == Phase::stopping) record();
    if (phase_ == Phase::stopping && has_stopped()) return judge(now);
    if (phase_ == Phase::adopting || (phase_ == Phase::running && node.leaving)) return review(now);
    if (phase_ == Phase::running) stop(now, fmt::format("{} was lost", node.record.host), node.assigned.ranks.ranges());
}

/// Without a snapshot the predecessor ran under another claim, and its guard has not restarted an agent of the round:
/// the missing nodes count as lost. Else the guard may be restarting one now. If all members have fenced themselves,
/// the round's size is unknown, but a job of fixed size misses nodes.
void Rounds::lose_missing_nodes(Time now) {
    const bool is_whole = is_elastic() || roster_.size() >= static_cast<std::size_t>(job_.min_nodes);
    if (all_joined() && is_whole) return;
    if (options_.snapshot) {
        missing_until_ = now + std::max(job_.node_timeout, kLeastReturn);
        return;
    }
    missed_nodes_ = true;
    for (const auto& [id, node] : roster_.all())
        if (node.record.host == earlier_host_) return;
    if (earlier_host_.empty()) return;
    lost_hosts_.lost(earlier_host_);  // the likely loss
    cooldowns_.lost(now, earlier_host_);
}

void Rounds::miss_nodes(Time now) {
    missing_until_ = kNever;
    missed_nodes_ = true;
    end_if_hopeless(now);
}

// --- the job ends ---------------------------------------------------------------------------------------------------

void Rounds::finish(Time now, int status, std::string reason, bool with_causes) {
    phase_ = Phase::over;
    verdict_ = Verdict{status, std::move(reason)};
    if (with_causes) verdict_ = add_causes(std::move(*verdict_));
    over_since_ = now;
    record();
    broadcast(End{stamp(), *verdict_});
}

Verdict Rounds::add_causes(Verdict verdict) const {
    verdict.records = blame_.causes().records();
    verdict.outcomes = blame_.outcomes();
    verdict.named_rank = blame_.causes().named_rank();
    return verdict;
}

void Rounds::end_as_decided(Time now) {
    const Verdict decided = *blame_.decided();
    finish(now, decided.status, decided.reason, blame_.with_causes());
}

/// Takes effect when the round has stopped.
void Rounds::decide(int status, const std::string& reason, bool with_causes) {
    if (blame_.decided()) return;  // the first decision stands, and was recorded
    blame_.decide({status, reason, {}}, with_causes, failure_ends_job());
    if (phase_ == Phase::stopping) record();
}

/// Waits for members that have not closed their connection: until all have been silent for a node time-out, at most
/// kMostLinger.
void Rounds::tick_over(Time now) {
    if (now >= next_look_) {
        next_look_ = now + job_.node_timeout / 20;
        const bool all_silent = roster_.silent(now, job_.node_timeout).size() == roster_.size();
        lingered_ = now - over_since_ >= kMostLinger || (all_silent && now - over_since_ >= job_.node_timeout);
    }
}

bool Rounds::finished() const {
    return phase_ == Phase::over && (lingered_ || (roster_.size() == 0 && !expected_nodes_.any(now_)));
}

/// Ends a job that has lost a member, has too few, and cannot get another one: a job of fixed size without a spare and
/// a restart, or one whose hosts are all started once and have joined or failed. A host does not count as lost while
/// its guard restarts the agent.
void Rounds::end_if_hopeless(Time now) {
    const bool is_whole = roster_.size() >= static_cast<std::size_t>(job_.min_nodes);
    const bool others_may_join = more_hosts_ == MoreHosts::awaited ||
                                 (more_hosts_ == MoreHosts::possible && (is_elastic() || !restarts_.spent()));
    if (number() < 0 || is_whole || others_may_join) return;
    if (!lost_hosts_.any() && !missed_nodes_) return;
    if (lost_hosts_.any_returns() || phase_ == Phase::over || phase_ == Phase::adopting) return;
    const std::string reason =
        fmt::format("{} was lost: {} of {} nodes, no spare {}left", lost_hosts_.any() ? lost_hosts_.latest() : "a node",
                    roster_.size(), job_.min_nodes, restarts_.spent() ? "and no restart " : "");
    if (phase_ == Phase::gathering) return finish(now, exit_status::kRendezvousTimeout, reason, false);
    decide(exit_status::kRendezvousTimeout, reason, false);
}

/// Only a round that cannot start depends on these hosts.
void Rounds::no_more_hosts(Time now) {
    more_hosts_ = MoreHosts::none;
    if (phase_ == Phase::gathering) end_if_hopeless(now);
}

void Rounds::end_job(Time now, int status, const std::string& reason, bool at_once) {
    if (phase_ == Phase::over) return;
    if (blame_.decided()) {
        if (at_once && phase_ == Phase::stopping) broadcast(order_to_stop(true));
        return;
    }
    decide(status, reason, true);
    if (phase_ == Phase::stopping) return;
    if (phase_ == Phase::running || roster_.count(MemberState::running) > 0) return stop(now, reason);
    end_as_decided(now);
}

}  // namespace dlaunch::rendezvous
