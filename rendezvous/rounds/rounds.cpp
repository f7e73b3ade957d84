/// How a round begins: a predecessor's is adopted, or nodes gather for a new one.

#include "rendezvous/rounds/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/assignments.hpp"
#include "rendezvous/rounds/waiting.hpp"

namespace dlaunch::rendezvous {

Rounds::Rounds(const CoordinatorOptions& options, const Rules& rules, Roster& roster, Outbox& outbox, Time now)
    : options_(options),
      rules_(rules),
      roster_(roster),
      outbox_(outbox),
      job_(options_.snapshot ? options_.snapshot->config : static_cast<const JobConfig&>(options_)),
      restarts_(job_.restarts),
      cooldowns_(job_.cooldown),
      now_(now),
      began_(now) {
    if (options_.succeeds || options_.snapshot) {
        succeed(now);
    } else {
        record();
        gather(now);
    }
}

Snapshot Rounds::snapshot() const {
    const bool is_stopping = phase_ == Phase::stopping && !round_over_;
    return {options_.epoch,
            job_,
            {restarts_.counters(), first_group_size_},
            number(),
            static_cast<std::int32_t>(is_stopping && !awaits_members() ? roster_.members() : group_size_),
            static_cast<std::int32_t>(std::max(roster_.size(), awaited_.nodes(now_))),
            round_over_,
            numbers_.complete(),
            restart_reason_,
            cooldowns_.snapshot(now_),
            verdict_,
            is_stopping ? std::optional(blame_.pending(restart_reason_)) : std::nullopt};
}

void Rounds::record() {
    Snapshot current = snapshot();
    recorded_nodes_ = current.nodes;
    outbox_.record(std::move(current));
}

void Rounds::pass(Time now, Time::duration gap) {
    now_ = now;
    blame_.pass(gap);
    adoption_.excuse(gap);
}

// --- nodes ----------------------------------------------------------------------------------------------------------

void Rounds::introduced(const Join& join) {
    numbers_.reported(join.latest_round);
    lost_hosts_.joined(join.record.host);
    if (join.job && !roster_.removed_incarnation(join.record.id)) awaited_.came();
    if (phase_ == Phase::adopting && join.job && !options_.snapshot) learn(*join.job);
}

void Rounds::joined(Time now, Node& node, const Join& join) {
    if (phase_ == Phase::over) return send(node, End{stamp(), *verdict_});
    cool_down(now, node);
    // A successor waits for the spares, too. Before the first round there is nothing that it could miss.
    if (number() >= 0 && roster_.size() > static_cast<std::size_t>(recorded_nodes_)) record();
    switch (phase_) {
        case Phase::adopting: return adopt(now, node, join);
        case Phase::gathering: return try_start(now);
        case Phase::running: return note_newcomer(now, node);
        case Phase::stopping: return awaits_members() ? adopt(now, node, join) : void();
        case Phase::over: return;
    }
}

void Rounds::resumed(Time now, const Node& node, std::int32_t known_round) {
    if (phase_ == Phase::over) return send(node, End{stamp(), *verdict_});
    if (node.state == MemberState::running) {
        if (phase_ == Phase::running && known_round < number()) send(node, node.assigned);
        if (phase_ == Phase::stopping) send(node, StopRound{stamp(), restart_reason_, stopped_for_});
    }
    if (phase_ == Phase::gathering) try_start(now);
}

// --- succession -----------------------------------------------------------------------------------------------------

void Rounds::succeed(Time now) {
    const Time until = now + job_.node_timeout;
    awaited_.begin(until, options_.snapshot ? static_cast<std::size_t>(options_.snapshot->nodes) : 0);
    numbers_.adopt(-1, false);
    if (options_.snapshot) {
        const Snapshot& earlier = *options_.snapshot;
        numbers_.adopt(earlier.round, earlier.complete);
        restarts_ = Restarts(job_.restarts, earlier.progress.restarts);
        cooldowns_ = Cooldowns(job_.cooldown, now, earlier.losses);
        first_group_size_ = earlier.progress.first_group_size;
        group_size_ = static_cast<std::size_t>(earlier.group_size);
        restart_reason_ = earlier.restart_reason;
        if (earlier.verdict) {
            verdict_ = earlier.verdict;
            phase_ = Phase::over;
            over_since_ = next_look_ = now;
            return record();
        }
        if (earlier.round_over) {  // none of its workers lives: no need to wait for its members' leases
            record();
            gathering_.not_before(now + earlier.progress.restarts.pause);
            return gather(now);
        }
    }
    round_over_ = false;
    phase_ = Phase::adopting;
    if (options_.snapshot && options_.snapshot->stop) {
        phase_ = Phase::stopping;
        blame_.restore(*options_.snapshot->stop);
        restart_reason_ = options_.snapshot->stop->reason;
    }
    // A member that has not come by then has fenced itself. Its lease was renewed by the predecessor at the latest,
    // which had died or was deposed before this coordinator began.
    adoption_.begin(until);
    gathering_.not_before(until);
    record();
}

/// The options of the job, from the first member that comes, where there was no snapshot.
void Rounds::learn(const JobConfig& job) {
    if (job == job_) return;
    job_ = job;
    restarts_ = Restarts(job_.restarts, restarts_.counters());
    cooldowns_ = Cooldowns(job_.cooldown);
    adoption_.extend(began_ + job_.node_timeout);
    gathering_.not_before(adoption_.until());
    awaited_.extend(adoption_.until());
    record();
}

bool Rounds::may_be_adopted(const Join& join) const {
    if (join.stamp.round < std::max(number(), join.latest_round)) return false;
    if (phase_ == Phase::stopping) return awaits_members() && join.stamp.round == number();
    return phase_ == Phase::adopting;
}

/// Nodes in an earlier round were left behind when that was over. No worker of it may live there, and what they
/// reported of it does not count.
void Rounds::begin_later_round(Time now, std::int32_t round) {
    std::vector<std::string> left_behind;
    for (auto& [id, node] : roster_.all()) {
        if (node.state == MemberState::running) left_behind.push_back(id);
        roster_.set_state(node, MemberState::none);
    }
    for (const std::string& id : left_behind) {
        Node& node = *roster_.find(id);
        send(node, Refused{true, 0, "a later round than this node's has begun"});
        evict(now, node);
    }
    blame_.begin_round();
    adoption_.begin_again();
    group_size_ = 0;
    round_over_ = false;
    numbers_.adopt(round, false);
}

/// The latest round counts. A round that is being stopped has no later one.
void Rounds::adopt(Time now, Node& node, const Join& join) {
    if (phase_ == Phase::adopting && join.latest_round > number()) begin_later_round(now, join.latest_round);
    if (!join.running || join.stamp.round != number()) return;
    const RunningRound& running = *join.running;
    if (group_size_ == 0) group_size_ = static_cast<std::size_t>(running.group_world_size);
    if (!options_.snapshot && running.progress.restarts.used >= restarts_.used()) {
        restarts_ = Restarts(job_.restarts, running.progress.restarts);
        first_group_size_ = running.progress.first_group_size;
    }
    round_began_ = now;
    adoption_.came();
    roster_.set_state(node, MemberState::running);
    node.survivor = true;
    node.last_rank = running.group_rank;
    node.assigned = {.stamp = stamp(), .local_world_size = 0};  // its ranks are known to the predecessor only
    if (all_came()) {
        adoption_.end();
        // No member is unseen: none needs to fence itself, unless there may be a later round.
        if (numbers_.complete()) gathering_.nothing_lives(now);
    }
    if (phase_ == Phase::stopping) return send(node, StopRound{stamp(), restart_reason_, stopped_for_});
    review(now);
}

/// Members that have not come by now never will.
void Rounds::end_adoption(Time now) {
    adoption_.end();
    if (phase_ == Phase::stopping && has_stopped()) return judge(now);
    if (phase_ != Phase::adopting) return;
    blame_.excuse();  // failures meanwhile may have followed from the loss of members that have not come
    if (roster_.count(MemberState::running) > 0 || group_size_ > 0)
        stop(now, "not every node of the running round came to the new coordinator");
    else
        gather(now);
}

// --- gathering ------------------------------------------------------------------------------------------------------

std::size_t Rounds::limit() const {
    if (job_.scale_up == ScaleUp::never && first_group_size_ > 0) return static_cast<std::size_t>(first_group_size_);
    return static_cast<std::size_t>(job_.max_nodes);
}

Gathering::Nodes Rounds::nodes(Time now) const {
    const std::size_t cooling = admission_.cooling([this](const std::string& id) {
        const auto node = roster_.all().find(id);
        return node != roster_.all().end() && node->second.connection;
    });
    return {roster_.size(), roster_.connected(), roster_.connected() - cooling, limit(),
            awaited_.any(now) ? group_size_ : 0};
}

/// Only connected nodes can be in the next round. A spare that died without a good-bye is known until its silence ends.
std::string Rounds::waiting() const {
    std::vector<std::string> present;
    for (const auto& [id, node] : roster_.all())
        if (node.connection && !admission_.is_cooling(id)) present.push_back(node.record.host);
    if (const auto left = gathering_.last_call(now_))
        return fmt::format("{} of at most {} nodes, starting in {:.0f} s", present.size(), limit(),
                           std::chrono::duration<double>(*left).count());
    const auto missing =
        options_.expected_hosts.empty() ? lost_hosts_.names() : missing_hosts(options_.expected_hosts, present);
    const auto least = static_cast<std::size_t>(job_.min_nodes);
    return waiting_text(present.size(), present.size() < least ? least : limit(), missing);
}

void Rounds::gather(Time now) {
    phase_ = Phase::gathering;
    gathering_.begin(now, job_, number() < 0, options_.progress);
    std::vector<std::string> leavers;
    if (roster_.leaving() > 0)
        for (const auto& [id, node] : roster_.all())
            if (node.leaving) leavers.push_back(id);
    for (const std::string& id : leavers) release(now, *roster_.find(id));
    end_if_hopeless(now);
    if (phase_ == Phase::gathering) try_start(now);
}

void Rounds::try_start(Time now) {
    switch (gathering_.step(now, earliest_start(), nodes(now))) {
        case Gathering::Step::wait: return;
        case Gathering::Step::start: return start(now);
        case Gathering::Step::timed_out: return time_out(now);
    }
}

void Rounds::time_out(Time now) {
    finish(now, exit_status::kRendezvousTimeout,
           fmt::format("rendezvous timed out after {:g} s: {}", static_cast<double>(job_.join_timeout.count()) / 1e3,
                       waiting()),
           false);
}

/// Members of the last round first, then those that waited longest.
std::vector<Node*> Rounds::choose() {
    std::vector<Node*> chosen;
    for (auto& [id, node] : roster_.all())
        if (node.connection && !admission_.is_cooling(id)) chosen.push_back(&node);
    std::sort(chosen.begin(), chosen.end(), [](const Node* left, const Node* right) {
        if (left->survivor != right->survivor) return left->survivor;
        return left->arrival < right->arrival;
    });
    if (chosen.size() > limit()) chosen.resize(limit());
    return chosen;
}

void Rounds::start(Time now) {
    const std::vector<Node*> chosen = choose();
    phase_ = Phase::running;
    numbers_.begin();
    round_began_ = now;
    round_over_ = false;
    group_size_ = chosen.size();
    if (first_group_size_ == 0) first_group_size_ = static_cast<std::int32_t>(group_size_);
    adoption_.end();
    blame_.begin_round();
    lost_hosts_.round_begins();
    admission_.taken_in();
    roster_.clear_states();
    record();
    assign(chosen);
}

void Rounds::assign(const std::vector<Node*>& chosen) {
    Assigned common;
    common.stamp = stamp();
    common.restart_count = restarts_.used();
    common.max_restarts = job_.restarts.max_restarts;
    common.restart_reason = restart_reason_;
    common.progress = {restarts_.counters(), first_group_size_};
    Assignments assignments = assign_ranks(chosen, common, job_);
    for (auto& [id, node] : roster_.all()) node.survivor = false;
    if (!assignments.warning.empty()) broadcast(Tell{stamp(), assignments.warning});
    for (std::size_t at = 0; at < chosen.size(); ++at) {
        Node& node = *chosen[at];
        roster_.set_state(node, MemberState::running);
        node.survivor = true;
        node.last_rank = assignments.of[at].group_rank;
        node.assigned = std::move(assignments.of[at]);
        send(node, node.assigned);
    }
}

// --- time -----------------------------------------------------------------------------------------------------------

void Rounds::tick(Time now) {
    if (phase_ == Phase::over) return tick_over(now);
    if (lost_hosts_.give_up(now)) end_if_hopeless(now);
    warm_up(now);
    if (adoption_.has_timed_out(now)) end_adoption(now);
    if (phase_ == Phase::running && admission_.is_due(now)) take_newcomers_in(now);
    if (phase_ != Phase::gathering) return;
    try_start(now);
    if (phase_ != Phase::gathering || !gathering_.progress_is_due(now)) return;
    const bool for_nodes = nodes(now).ready < static_cast<std::size_t>(job_.min_nodes);  // else for a pause to end
    if (for_nodes || now >= earliest_start()) broadcast(Tell{stamp(), waiting()});
}

Time Rounds::deadline() const {
    if (phase_ == Phase::over) return lingered_ ? kNever : next_look_;
    Time due = adoption_.until();
    if (phase_ == Phase::running) due = std::min(due, admission_.deadline());
    if (phase_ == Phase::gathering) {
        due = std::min(due, gathering_.deadline(now_, earliest_start()));
        if (awaited_.any(now_)) due = std::min(due, awaited_.until());
    }
    return due;
}

}  // namespace dlaunch::rendezvous
