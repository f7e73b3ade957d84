/// How a round begins: a predecessor's is adopted, or nodes gather for a new one; newcomers of a running round.

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/assignments.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/rounds/waiting.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::size_t kShownNames = 4;

}  // namespace

// --- succession -----------------------------------------------------------------------------------------------------

void Coordinator::succeed(Time now) {
    await_until_ = now + job_.node_timeout;
    numbers_are_known_ = options_.snapshot && options_.snapshot->complete;
    if (options_.snapshot) {
        const Snapshot& earlier = *options_.snapshot;
        restarts_ = Restarts(job_.restarts, earlier.progress.restarts);
        cooldowns_ = Cooldowns(job_.cooldown, now, earlier.losses);
        first_group_size_ = earlier.progress.first_group_size;
        round_ = earlier.round;
        group_size_ = static_cast<std::size_t>(earlier.group_size);
        restart_reason_ = earlier.restart_reason;
        had_members_ = round_ >= 0;
        if (earlier.verdict) {
            verdict_ = earlier.verdict;
            phase_ = Phase::over;
            over_since_ = now;
            return record();
        }
        if (earlier.round_over) {  // nothing of it lives: no need to wait for its members' leases
            record();
            not_before_ = now + earlier.progress.restarts.pause;
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
    adopt_until_ = not_before_ = now + job_.node_timeout;
    record();
}

/// The options of the job, from the first member that comes, where there was no snapshot.
void Coordinator::learn(const JobConfig& job) {
    if (job == job_) return;
    job_ = job;
    restarts_ = Restarts(job_.restarts, restarts_.counters());
    cooldowns_ = Cooldowns(job_.cooldown);
    adopt_until_ = std::max(adopt_until_, began_ + job_.node_timeout);
    not_before_ = std::max(not_before_, adopt_until_);
    await_until_ = std::max(await_until_, adopt_until_);
    record();
}

/// Nodes in an earlier round were left behind when that was over. Nothing of it may live there, and what they reported
/// of it counts for nothing.
void Coordinator::begin_later_round(Time now, std::int32_t round) {
    std::vector<std::string> left_behind;
    for (auto& [id, other] : roster_.all())
        if (other.state == MemberState::running)
            left_behind.push_back(id);
        else
            roster_.set_state(other, MemberState::none);
    for (const std::string& id : left_behind) {
        Node& other = *roster_.find(id);
        roster_.set_state(other, MemberState::none);
        send(other.connection, Refused{true, 0, "a later round than this node's has begun"});
        evict(now, other);
    }
    blame_.begin_round();
    group_size_ = came_ = 0;
    round_ = round;
    round_over_ = false;
    numbers_are_known_ = false;
}

/// The latest round counts. A round that is being stopped has no later one.
void Coordinator::adopt(Time now, Node& node, const Join& join) {
    if (phase_ == Phase::adopting && join.latest_round > round_) begin_later_round(now, join.latest_round);
    if (!join.running || join.stamp.round != round_) return;
    const RunningRound& running = *join.running;
    if (group_size_ == 0) group_size_ = static_cast<std::size_t>(running.group_world_size);
    if (!options_.snapshot && running.progress.restarts.used >= restarts_.used()) {
        restarts_ = Restarts(job_.restarts, running.progress.restarts);
        first_group_size_ = running.progress.first_group_size;
    }
    round_began_ = now;
    ++came_;
    roster_.set_state(node, MemberState::running);
    node.survivor = true;
    node.last_rank = running.group_rank;
    node.assigned = {.stamp = stamp(), .local_world_size = 0};  // its ranks were the predecessor's to know
    if (all_members_came()) all_came(now);
    if (phase_ == Phase::stopping) return send(node.connection, StopRound{stamp(), restart_reason_, stopped_for_});
    review(now);
}

/// No member of the latest round is unseen, and where there may be no later one, none needs to fence itself.
void Coordinator::all_came(Time now) {
    adopt_until_ = kNever;
    if (numbers_are_known_) not_before_ = now;
}

void Coordinator::on_adoption_timeout(Time now) {
    adopt_until_ = kNever;
    if (phase_ == Phase::stopping && round_has_stopped()) return judge(now);
    if (phase_ != Phase::adopting) return;
    blame_.excuse();  // what failed meanwhile may have followed from the loss of members that have not come
    if (roster_.count(MemberState::running) > 0 || group_size_ > 0)
        stop_round(now, "not every node of the running round came to the new coordinator");
    else
        gather(now);
}

// --- gathering ------------------------------------------------------------------------------------------------------

std::size_t Coordinator::limit() const {
    if (job_.scale_up == ScaleUp::never && first_group_size_ > 0) return static_cast<std::size_t>(first_group_size_);
    return static_cast<std::size_t>(job_.max_nodes);
}

/// Nodes that could be in the next round: connected, and their hosts not cooling down.
std::size_t Coordinator::ready() const {
    std::size_t cooling = 0;
    for (const auto& [id, until] : cooling_)
        if (const auto node = roster_.all().find(id); node != roster_.all().end() && node->second.connection) ++cooling;
    return roster_.connected() - cooling;
}

/// Only connected nodes can be in the next round. A spare that died without a good-bye is known until its silence ends.
std::string Coordinator::waiting() const {
    std::vector<std::string> present;
    for (const auto& [id, node] : roster_.all())
        if (node.connection && !cooling_.contains(id)) present.push_back(node.record.host);
    if (last_call_until_ != kNever && now_ < last_call_until_)
        return fmt::format("{} of at most {} nodes, starting in {:.0f} s", present.size(), limit(),
                           std::chrono::duration<double>(last_call_until_ - now_).count());
    const auto missing =
        options_.expected_hosts.empty() ? lost_hosts_ : missing_hosts(options_.expected_hosts, present);
    const auto least = static_cast<std::size_t>(job_.min_nodes);
    return waiting_text(present.size(), present.size() < least ? least : limit(), missing);
}

void Coordinator::gather(Time now) {
    phase_ = Phase::gathering;
    gather_until_ = now + job_.join_timeout;
    next_progress_ = now + options_.progress;
    last_call_until_ = kNever;
    std::vector<std::string> leavers;
    if (roster_.leaving() > 0)
        for (const auto& [id, node] : roster_.all())
            if (node.leaving) leavers.push_back(id);
    for (const std::string& id : leavers) release(now, *roster_.find(id));
    end_if_hopeless(now);
    if (phase_ == Phase::gathering) try_start(now);
}

void Coordinator::tick_gathering(Time now) {
    try_start(now);
    if (phase_ != Phase::gathering) return;
    if (now >= gather_until_) return on_join_timeout(now);
    if (now < next_progress_) return;
    next_progress_ = now + options_.progress;
    const bool for_nodes = ready() < static_cast<std::size_t>(job_.min_nodes);  // else for a pause to end
    if (for_nodes || now >= earliest_start()) broadcast(Tell{stamp(), waiting()});
}

void Coordinator::try_start(Time now) {
    const auto min_nodes = static_cast<std::size_t>(job_.min_nodes);
    const std::size_t there = ready();
    if (now < earliest_start() || roster_.size() < min_nodes) return;
    if (there >= limit()) return start(now);
    if (there < min_nodes) {
        last_call_until_ = kNever;
        return;
    }
    if (roster_.connected() < roster_.size()) return;  // a node that is cut off comes back, or is lost soon
    if (there < group_size_ && now < await_until_) return;
    if (round_ < 0 && last_call_until_ == kNever) last_call_until_ = now + job_.last_call;
    if (round_ >= 0 || now >= last_call_until_) start(now);
}

void Coordinator::on_join_timeout(Time now) {
    if (ready() >= static_cast<std::size_t>(job_.min_nodes) && now >= earliest_start()) return start(now);
    finish(now, exit_status::kRendezvousTimeout,
           fmt::format("rendezvous timed out after {:g} s: {}", static_cast<double>(job_.join_timeout.count()) / 1e3,
                       waiting()),
           false);
}

/// Members of the last round first, then those that waited longest.
void Coordinator::start(Time now) {
    std::vector<Node*> chosen;
    for (auto& [id, node] : roster_.all())
        if (node.connection && !cooling_.contains(id)) chosen.push_back(&node);
    std::sort(chosen.begin(), chosen.end(), [](const Node* left, const Node* right) {
        if (left->survivor != right->survivor) return left->survivor;
        return left->arrival < right->arrival;
    });
    if (chosen.size() > limit()) chosen.resize(limit());

    phase_ = Phase::running;
    // A predecessor may have begun a round that no member here has heard of.
    round_ = std::max(round_, highest_round_) + (numbers_are_known_ ? 1 : 2);
    numbers_are_known_ = true;
    round_began_ = now;
    round_over_ = false;
    group_size_ = chosen.size();
    came_ = 0;
    if (first_group_size_ == 0) first_group_size_ = static_cast<std::int32_t>(group_size_);
    blame_.begin_round();
    lost_hosts_.clear();
    newcomers_until_ = kNever;
    roster_.clear_states();
    record();

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
        send(node.connection, node.assigned);
    }
}

// --- newcomers of a running round -----------------------------------------------------------------------------------

/// Nodes that wait for a place, without those whose hosts cool down.
std::size_t Coordinator::newcomers() const { return roster_.count(MemberState::none) - cooling_.size(); }

/// No node is disturbed where the job is about to end well.
bool Coordinator::may_take_newcomers_in() const {
    return job_.scale_up == ScaleUp::immediate && group_size_ < limit() &&
           roster_.count(MemberState::running) == group_size_;
}

void Coordinator::note_newcomer(Time now, const Node& node) {
    const bool is_cooling = cooling_.contains(node.record.id);
    if (!is_cooling && may_take_newcomers_in()) {
        newcomers_until_ = group_size_ + newcomers() >= limit() ? now : now + job_.last_call;
        if (now >= newcomers_until_) return take_newcomers_in(now);
        send(node.connection,
             Tell{stamp(), fmt::format("a newcomer to job \"{}\", which runs on {} node{}: taken in when no other node "
                                       "has come for {:g} s",
                                       options_.job_id, group_size_, group_size_ == 1 ? "" : "s",
                                       static_cast<double>(job_.last_call.count()) / 1e3)});
        return;
    }
    if (is_cooling) return;
    send(node.connection,
         Tell{stamp(),
              fmt::format("a spare of job \"{}\", which runs on {} node{}: waiting{}", options_.job_id, group_size_,
                          group_size_ == 1 ? "" : "s",
                          options_.job_id == kUnnamedJob ? "; another job needs another port, and an --rdzv-id" : "")});
}

void Coordinator::take_newcomers_in(Time now) {
    newcomers_until_ = kNever;
    if (!may_take_newcomers_in()) return;
    std::vector<std::string> names;
    for (const auto& [id, node] : roster_.all())
        if (node.state == MemberState::none && node.connection && !cooling_.contains(id))
            names.push_back(node.record.host);
    if (names.empty()) return;
    std::string text = names.front();
    for (std::size_t at = 1; at < std::min(names.size(), kShownNames); ++at) text += ", " + names[at];
    if (names.size() > kShownNames) text += fmt::format(" and {} more", names.size() - kShownNames);
    stop_round(now, text + " joined");
}

/// Nodes whose hosts have cooled down are newcomers.
void Coordinator::warm_up(Time now) {
    for (auto at = cooling_.begin(); at != cooling_.end();) {
        if (now < at->second) {
            ++at;
            continue;
        }
        const Node* node = roster_.find(at->first);
        at = cooling_.erase(at);
        if (node && phase_ == Phase::running) {
            note_newcomer(now, *node);
            if (phase_ != Phase::running) return;
        }
    }
}

}  // namespace dlaunch::rendezvous
