/// The succession of a coordinator: adopts the round of its predecessor.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/rounds/rounds.hpp"

namespace dlaunch::rendezvous {

void Rounds::succeed(Time now) {
    const Time until = now + job_.node_timeout;
    expected_nodes_.begin(until, options_.snapshot ? static_cast<std::size_t>(options_.snapshot->nodes) : 0);
    numbers_.adopt(-1, false);
    if (options_.snapshot) {
        const Snapshot& earlier = *options_.snapshot;
        numbers_.adopt(earlier.round, earlier.complete);
        restarts_ = Restarts(job_.restarts, earlier.progress.restarts);
        cooldowns_.learn(now, earlier.progress.losses);
        first_group_size_ = earlier.progress.first_group_size;
        group_size_ = static_cast<std::size_t>(earlier.group_size);
        removed_ = finished_ = {earlier.gone.begin(), earlier.gone.end()};
        for (const std::int32_t rank : earlier.gone) adoption_.accounted_for(rank);
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
    round_began_ = now;
    phase_ = Phase::adopting;
    if (options_.snapshot && options_.snapshot->stop) {
        phase_ = Phase::stopping;
        blame_.restore(*options_.snapshot->stop);
        restart_reason_ = options_.snapshot->stop->reason;
    }
    // After `until` every member that has not joined has fenced itself: only the predecessor could renew its lease, and
    // the predecessor had died or been deposed before this coordinator started.
    adoption_.begin(until);
    gathering_.not_before(until);
    record();
}

/// Whether the joining node is certainly a node of the predecessor's snapshot. An evicted node is not: counted in place
/// of a node that has still to join, it would let this coordinator end before that node has received the verdict.
bool Rounds::was_known(const Join& join) const {
    if (!join.job || roster_.removed_incarnation(join.record.id)) return false;
    if (!options_.snapshot) return true;
    const Snapshot& earlier = *options_.snapshot;
    const bool was_removed = join.last_group_rank && std::ranges::count(earlier.gone, *join.last_group_rank) > 0;
    return join.latest_round >= earlier.round && !was_removed;
}

/// Without a snapshot: takes the job's options and progress from the nodes that join.
void Rounds::learn(const Join& join) {
    if (join.job && *join.job != job_) {
        job_ = *join.job;
        restarts_ = Restarts(job_.restarts, restarts_.counters());
        cooldowns_ = Cooldowns(job_.cooldown);
        adoption_.extend(began_ + job_.node_timeout);
        gathering_.not_before(adoption_.until());
        expected_nodes_.extend(adoption_.until());
        record();
    }
    if (join.progress && join.progress->restarts.used >= restarts_.used()) {
        restarts_ = Restarts(job_.restarts, join.progress->restarts);
        first_group_size_ = join.progress->first_group_size;
    }
    if (!join.progress || join.progress->losses.empty()) return;
    cooldowns_.learn(now_, join.progress->losses);
    begin_cooldowns(now_, join.record.id);
}

bool Rounds::was_removed(const Join& join) const {
    return is_settling() && join.running && join.stamp.round == number() && removed_.contains(join.running->group_rank);
}

bool Rounds::may_be_adopted(const Join& join) const {
    if (join.stamp.round < std::max(number(), join.latest_round)) return false;
    if (phase_ == Phase::stopping) return expects_members() && join.stamp.round == number();
    return phase_ == Phase::adopting;
}

/// Evicts nodes that still run an earlier round (they missed its end), and drops their reports about that round.
void Rounds::begin_later_round(Time now, std::int32_t round) {
    round_began_ = now;
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
    removed_.clear();
    finished_.clear();
    group_size_ = 0;
    round_over_ = false;
    numbers_.adopt(round, false);
}

/// The latest reported round is adopted. A round that is being stopped has no later one.
void Rounds::adopt(Time now, Node& node, const Join& join) {
    if (phase_ == Phase::adopting && join.latest_round > number()) begin_later_round(now, join.latest_round);
    if (!join.running || join.stamp.round != number()) return;
    const RunningRound& running = *join.running;
    if (group_size_ == 0) group_size_ = static_cast<std::size_t>(running.group_world_size);
    round_began_ = std::min(round_began_, now - running.age);
    roster_.set_state(node, MemberState::running);
    node.survivor = true;
    node.last_rank = running.group_rank;
    node.assigned = {.stamp = stamp()};  // its ranks are known to the predecessor only
    if (running.alive) account_for(now, running.group_rank);
    if (phase_ == Phase::stopping) return send(node, order_to_stop());
    review(now);
}

/// Of a member without workers the report must have come, too: it may have finished, and then no new round may begin.
void Rounds::account_for(Time now, std::int32_t group_rank) {
    adoption_.accounted_for(group_rank);
    if (!all_joined()) return;
    adoption_.end();
    // All members have joined, so no lease must run out before the next round, unless a later round may exist.
    if (numbers_.complete()) gathering_.nothing_lives(now);
    if (phase_ == Phase::stopping) answer_leaves(now);
}

/// All members have joined. What has happened meanwhile takes effect now.
void Rounds::adopted(Time now) {
    phase_ = Phase::running;
    const Causes& causes = blame_.causes();
    if (!causes.empty())
        stop(now, causes.first().summary, causes.first().lost);
    else if (!blame_.lost_host().empty())
        stop(now, blame_.lost_host() + " was lost");
    answer_leaves(now);
    note_newcomers(now);
}

/// Members that have not joined by the deadline have fenced themselves.
void Rounds::end_adoption(Time now) {
    adoption_.end();
    for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(group_size_); ++rank)
        if (adoption_.misses(rank)) removed_.insert(rank);
    if (phase_ == Phase::stopping) {
        answer_leaves(now);
        return phase_ == Phase::stopping && has_stopped() ? judge(now) : void();
    }
    if (phase_ != Phase::adopting) return;
    blame_.excuse();  // the loss of the missing members may have caused the failures
    lose_missing_nodes(now);
    if (roster_.count(MemberState::running) == 0 && group_size_ == 0) begin_gathering(now);
    answer_leaves(now);
    if (phase_ == Phase::gathering) return gather(now);
    if (phase_ == Phase::adopting) stop(now, "not every node of the running round joined the new coordinator");
    end_if_hopeless(now);
}

}  // namespace dlaunch::rendezvous
