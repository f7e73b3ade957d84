/// The properties that every schedule must keep.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "rendezvous/discovery/claim.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

/// Time after which no fault has an effect any more: losses were detected, nodes have rejoined, newcomers were
/// admitted, cool-downs are over.
Milliseconds Simulation::settled_at() const {
    if (disturbed_until_.count() == 0) return Milliseconds(0);
    return disturbed_until_ + 2 * options_.node_timeout + options_.last_call + options_.cooldown.most +
           Milliseconds(1'000);
}

std::size_t Simulation::healthy() const {
    return static_cast<std::size_t>(std::count_if(agents_.begin(), agents_.end(), [this](const Agent& agent) {
        return agent.acts() && !agent.left && now_ >= agent.frozen_until;
    }));
}

// --- messages of a coordinator --------------------------------------------------------------------------------------

void Simulation::check_sent(std::uint64_t number, const Message& message) {
    const bool is_first_again = keys_lost_at_ && !process(latest_process_);  // the later one has lost its claim
    if (number < latest_process_ && !may_have_two_owners() && !is_first_again)
        violated("epochs", fmt::format("coordinator {} sends a message of kind {} after coordinator {} has begun",
                                       number, message.index(), latest_process_));
    if (const auto* assigned = std::get_if<Assigned>(&message)) check_assigned(*assigned);
    if (const auto* stop = std::get_if<StopRound>(&message)) check_stop(*stop);
}

/// A round begins.
void Simulation::check_assigned(const Assigned& assigned) {
    const Round key{assigned.stamp.epoch, assigned.stamp.round};
    RoundFacts& facts = rounds_[key];
    if (facts.began.count() > 0) return;
    facts.began = now_;
    facts.restart_count = assigned.restart_count;
    facts.size = static_cast<std::size_t>(assigned.group_world_size);
    const auto failures = static_cast<std::size_t>(
        std::count_if(rounds_.begin(), rounds_.end(), [](const auto& round) { return round.second.failed; }));
    note(fmt::format("round {} of epoch {} begins, restart {}", key.second, key.first, assigned.restart_count));
    if (assigned.restart_count > options_.restarts.max_restarts ||
        static_cast<std::size_t>(assigned.restart_count) > failures)
        violated("budget", fmt::format("round {} is restart {}, after {} rounds with failures", key.second,
                                       assigned.restart_count, failures));
    if (const RoundFacts* before = latest()) {
        // The coordinator of another claim may reuse the number of a round that no member has reported and of which no
        // worker lives: only epochs distinguish the rounds. A member whose assignment was lost cannot report it.
        const auto is_remembered = [&](const RoundFacts& round) {
            return std::ranges::any_of(round.placed, [&](const auto& place) {
                const Agent& agent = agents_[place.second];
                const bool has_joined = agent.acts() && agent.joined_process == latest_process_;
                return (has_joined && round.started.contains(place.first)) || agent.workers.alive;
            });
        };
        const bool is_used = std::any_of(rounds_.begin(), rounds_.end(), [&](const auto& earlier) {
            return earlier.first != key && earlier.first.second >= key.second && !earlier.second.started.empty() &&
                   (claim_of_epoch(earlier.first.first) == claim_of_epoch(key.first) || is_remembered(earlier.second));
        });
        if (is_used && !verdicts_may_differ_)
            violated("epochs",
                     fmt::format("round number {} is used after {}", key.second, order_of_rounds_.back().second));
        const bool quiet = settled_at() < before->began;
        if (quiet && before->failed) {
            ++tally_.quiet_failures;
            if (assigned.restart_count != before->restart_count + 1)
                violated("budget", fmt::format("round {} is restart {} after a failure in restart {}", key.second,
                                               assigned.restart_count, before->restart_count));
            if (before->first_reported && before->first_reported->status == 127)
                violated("verdict", fmt::format("round {} follows a permanent failure", key.second));
        }
    }
    order_of_rounds_.push_back(key);
    if (order_of_rounds_.size() > allowed_rounds_ + failures)
        violated("changes", fmt::format("{} rounds, where {} have failed and faults may have cost {}",
                                        order_of_rounds_.size(), failures, allowed_rounds_ - 1));
}

/// Of a failure or of a change. A coordinator that was replaced adopts the round where all members joined.
void Simulation::check_stop(const StopRound& stop) {
    if (order_of_rounds_.empty() || order_of_rounds_.back().second != stop.stamp.round) return;
    const bool adopts = adoption_.round == stop.stamp.round && disturbed_until_ < adoption_.since;
    if (adopts && adoption_.ranks_are_told && adoption_.missing.empty() && stop.reason.starts_with("not every node"))
        violated("cause", fmt::format("round {} is not adopted, though all members joined", stop.stamp.round));
    // A successor detects by time-outs which members had died with its predecessor.
    const bool lacks_dead = adoption_.round == stop.stamp.round &&
                            std::ranges::any_of(adoption_.missing, [this](std::size_t at) { return agents_[at].dead; });
    if (!last_round()->failed && now_ > settled_at() && !lacks_dead)
        violated("cause", fmt::format("round {} is stopped in quiet times: {}", stop.stamp.round, stop.reason));
}

void Simulation::expect_adoption(std::uint64_t number) {
    adoption_ = {number, -1, now_, false, {}};
    if (order_of_rounds_.empty()) return;
    RoundFacts& facts = rounds_[order_of_rounds_.back()];
    facts.first_reported.reset();
    facts.order_is_unknown = facts.failed;  // its predecessor may have decided by another order than that of now
    if (facts.placed.empty() || facts.placed.size() < facts.size) return;  // it did not reach all of its members
    adoption_.round = order_of_rounds_.back().second;
    adoption_.ranks_are_told = facts.started.size() == facts.size;
    for (const auto& [rank, agent] : facts.placed) adoption_.missing.insert(agent);
}

void Simulation::note_join(std::uint64_t number, std::size_t agent, const Join& join) {
    Agent& joining = agents_[agent];
    if (std::exchange(joining.joined_process, number) != number) joining.joined_incarnation = 0;
    // The Join of an earlier incarnation, read late from a connection that the agent has left, brings back no workers:
    // they were killed before the later incarnation joined.
    if (join.stamp.incarnation < joining.joined_incarnation) return;
    joining.joined_incarnation = join.stamp.incarnation;
    if (number == adoption_.process && join.running && join.running->alive && join.stamp.round == adoption_.round)
        adoption_.missing.erase(agent);
}

/// A member without workers has joined when its report has arrived, too.
void Simulation::note_report(std::uint64_t number, std::size_t agent, const Report& report) {
    if (number == adoption_.process && report.phase == Report::Phase::over && report.stamp.round == adoption_.round)
        adoption_.missing.erase(agent);
    if (!report.cause || order_of_rounds_.empty() || order_of_rounds_.back().second != report.stamp.round) return;
    RoundFacts& facts = rounds_[order_of_rounds_.back()];
    if (!facts.first_reported && !facts.order_is_unknown) facts.first_reported = report.cause;
}

// --- actions of an agent --------------------------------------------------------------------------------------------

void Simulation::check_round(const Assigned& assigned, std::size_t at) {
    const Round key{assigned.stamp.epoch, assigned.stamp.round};
    const int round = assigned.stamp.round;
    for (std::size_t other = 0; other < agents_.size(); ++other) {
        const SimulatedWorkers& workers = agents_[other].workers;
        // A node that joins after etcd has lost the job's keys cannot find the other owner.
        if (may_have_workers_of_two_owners() && claim_of_epoch(workers.round.first) != claim_of_epoch(key.first))
            continue;
        if (workers.alive && (workers.round != key || other == at || workers.group_rank == assigned.group_rank))
            violated("overlap", fmt::format("agent{} starts round {} while workers of round {} live on agent{}", at,
                                            round, workers.round.second, other));
    }
    auto& all = rounds_[key].started;
    if (!all.emplace(assigned.group_rank, assigned).second)
        violated("ranks", fmt::format("round {}: group rank {} was assigned twice", round, assigned.group_rank));
    const Assigned& first = all.begin()->second;
    if (assigned.group_rank < 0 || assigned.group_rank >= assigned.group_world_size ||
        assigned.group_world_size != first.group_world_size || assigned.world_size != first.world_size ||
        assigned.restart_count != first.restart_count || assigned.master_addr != first.master_addr ||
        assigned.master_port != first.master_port)
        violated("ranks", fmt::format("round {}: assignments differ", round));
    if (assigned.group_world_size < options_.min_nodes || assigned.group_world_size > options_.max_nodes)
        violated("ranks", fmt::format("round {} has {} nodes", round, assigned.group_world_size));
    check_ranks(rounds_[key]);
}

/// Ranks follow each other context by context, and within a context node by node, without holes if all nodes have
/// started.
void Simulation::check_ranks(const RoundFacts& facts) {
    std::map<std::pair<int, int>, RankBlock> blocks;  // by appnum and group rank
    for (const auto& [group_rank, assigned] : facts.started) {
        const auto& own = agents_[facts.placed.at(group_rank)].blocks;
        if (own.size() != assigned.ranks.blocks.size())
            return violated("ranks", fmt::format("node {} has {} blocks, and ranks for {}", group_rank, own.size(),
                                                 assigned.ranks.blocks.size()));
        for (std::size_t at = 0; at < own.size(); ++at) {
            blocks[{own[at].appnum, group_rank}] = assigned.ranks.blocks[at];
            if (own[at].count != assigned.ranks.blocks[at].count)
                violated("ranks", fmt::format("node {} has another number of workers than ranks", group_rank));
        }
    }
    const Assigned& any = facts.started.begin()->second;
    const bool is_whole = facts.started.size() == static_cast<std::size_t>(any.group_world_size);
    int end = 0;
    for (const auto& [place, block] : blocks) {
        if (is_whole ? block.first_rank != end : block.first_rank < end)
            violated("ranks", fmt::format("ranks of context {} on node {} begin at {}, and {} are taken", place.first,
                                          place.second, block.first_rank, end));
        end = block.first_rank + block.count;
    }
    if (is_whole ? end != any.world_size : end > any.world_size)
        violated("ranks", fmt::format("{} ranks in a world of {}", end, any.world_size));
}

/// Every half a second, until the job is over.
void Simulation::check_progress() {
    if (verdict_) return;
    after(Milliseconds(500), [this] { check_progress(); });
    const bool works =
        std::any_of(agents_.begin(), agents_.end(), [](const Agent& agent) { return agent.workers.alive; });
    const bool enough = healthy() >= static_cast<std::size_t>(options_.min_nodes);
    const bool is_served = current_seat() && seats_[current_seat()].listening;
    if (works || !enough || (fixed_ && !is_served) || now_ <= settled_at()) idle_since_ = now_;
    const Milliseconds limit = options_.node_timeout + options_.last_call + Milliseconds(3'000);
    if (idle_since_.count() == 0) idle_since_ = now_;
    if (now_ - idle_since_ > limit)
        violated("progress", fmt::format("{} nodes are there, and nothing has run for {} ms", healthy(),
                                         (now_ - idle_since_).count()));
}

// --- the end --------------------------------------------------------------------------------------------------------

void Simulation::check_verdict(const Verdict& verdict) {
    if (verdict_) {
        if (verdict_->status != verdict.status && !verdicts_may_differ_)
            violated("verdict", fmt::format("{} was decided, and now {}", verdict_->status, verdict.status));
        return;
    }
    verdict_ = verdict;
    note(fmt::format("the job ends with {} {}", verdict.status, verdict.reason));
    const auto wrong = [this](const std::string& text) { violated("verdict", text); };
    const bool anybody_left = ended_by_operator_ || std::any_of(agents_.begin(), agents_.end(),
                                                                [](const Agent& agent) { return agent.left; });
    const RoundFacts* last = latest();
    const bool quiet = last && settled_at() < last->began;
    const bool is_of_failure = verdict.status == 3 || verdict.status == 4 || verdict.status == 127;

    if (!verdict.records.empty()) {
        const std::string& record = verdict.records.front();
        const bool injected = std::any_of(rounds_.begin(), rounds_.end(),
                                          [&](const auto& round) { return round.second.records.contains(record); });
        if (!injected || verdict.status == 0)
            wrong(fmt::format("{} with \"{}\", which no failure was", verdict.status, record));
        if (quiet && last->first_reported && record != "record of " + last->first_reported->summary)
            wrong(fmt::format("\"{}\", where \"{}\" came first", record, last->first_reported->summary));
    }
    if (is_of_failure) {
        // A successor that no member of the latest round reaches judges the round before.
        const bool has_failed =
            quiet ? last->failed : std::ranges::any_of(rounds_, [](const auto& round) { return round.second.failed; });
        if (!has_failed) wrong(fmt::format("{} without a failure", verdict.status));
        if (quiet && last->first_reported && last->first_reported->status != verdict.status)
            wrong(fmt::format("{}, where the first failure has {}", verdict.status, last->first_reported->status));
        if (verdict.status != 127 && !anybody_left && last && last->restart_count < options_.restarts.max_restarts)
            violated("budget", fmt::format("gave up after {} restarts of {}", last->restart_count,
                                           options_.restarts.max_restarts));
    } else if (verdict.status == 0) {
        const bool one_succeeded = std::any_of(rounds_.begin(), rounds_.end(), [this](const auto& round) {
            const RoundFacts& facts = round.second;
            return !facts.placed.empty() && std::all_of(facts.placed.begin(), facts.placed.end(), [&](const auto& of) {
                return facts.succeeded.contains(of.first) || agents_[of.second].left;
            });
        });
        if (!one_succeeded) wrong("the job ended well, and not all workers had");
    } else if (verdict.status == 80) {
        if (now_ > settled_at() && healthy() >= static_cast<std::size_t>(options_.min_nodes))
            wrong(fmt::format("80 with {} nodes in quiet times", healthy()));
    } else if (verdict.status == 93) {
        const auto limit = static_cast<std::size_t>(options_.restarts.crash_loop);
        // The latest round may be lost before an agent begins it.
        if (limit == 0 || order_of_rounds_.size() + 1 < limit) wrong("93 without a crash loop");
    } else if (verdict.status != 143 || !anybody_left) {
        wrong(fmt::format("{}, for which there was no cause", verdict.status));
    }
}

void Simulation::check_end() {
    if (verdicts_may_differ_) return;
    for (std::size_t at = 0; at < agents_.size(); ++at) {
        const Agent& agent = agents_[at];
        if (agent.dead || !agent.status || agent.left || agent.disturbed) continue;
        const bool had_a_place = std::ranges::any_of(rounds_, [&](const auto& round) {
            return std::ranges::any_of(round.second.placed, [at](const auto& of) { return of.second == at; });
        });
        // Not each node of its predecessors has joined a coordinator that the operator ends.
        const bool is_unknown = ended_by_operator_ && !had_a_place && agent.joined_process != latest_process_;
        if (is_unknown && *agent.status == 81) continue;
        if (!verdict_)
            violated("verdict", fmt::format("agent{} ended with {} before the job", at, *agent.status));
        else if (agent.admitted && *agent.status != verdict_->status)
            violated("verdict",
                     fmt::format("agent{} ended with {}, the job with {}", at, *agent.status, verdict_->status));
        else if (*agent.status != verdict_->status && *agent.status != 83 && *agent.status != 80)
            violated("verdict", fmt::format("agent{} came late and ended with {}", at, *agent.status));
    }
}

}  // namespace dlaunch::rendezvous::simulation
