/// The start of a round: gathers nodes for it.

#include "rendezvous/rounds/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/assignments.hpp"
#include "rendezvous/rounds/waiting.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::size_t kToldHosts = 16;  // each member receives the losses of so many hosts

}  // namespace

Rounds::Rounds(const CoordinatorOptions& options, const Rules& rules, Roster& roster, Outbox& outbox, Time now)
    : options_(options),
      rules_(rules),
      roster_(roster),
      outbox_(outbox),
      job_(options_.snapshot ? options_.snapshot->config : static_cast<const JobConfig&>(options_)),
      more_hosts_(options_.more_hosts),
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
    const auto& gone = is_stopping ? removed_ : finished_;
    return {options_.epoch,
            job_,
            progress(cooldowns_.snapshot(now_)),
            number(),
            static_cast<std::int32_t>(group_size_),
            {gone.begin(), gone.end()},
            static_cast<std::int32_t>(too_few_gather() ? 0 : std::max(roster_.size(), expected_nodes_.nodes(now_))),
            round_over_,
            numbers_.complete(),
            restart_reason_,
            verdict_,
            is_stopping ? std::optional(blame_.pending(restart_reason_)) : std::nullopt};
}

Snapshot Rounds::take_record() {
    Snapshot current = snapshot();
    recorded_nodes_ = current.nodes;
    return current;
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
    if (was_known(join)) expected_nodes_.joined();
    if (phase_ == Phase::adopting && !options_.snapshot) learn(join);
    if (!join.coordinator_host.empty()) earlier_host_ = join.coordinator_host;
}

void Rounds::joined(Time now, Node& node, const Join& join) {
    if (phase_ == Phase::over) return send(node, End{stamp(), *verdict_});
    if (!join.running) begin_cooldown(now, node);
    // Record the new number of nodes: a successor waits for all of them, spares included. Before round 0 there is
    // nothing to adopt. While too few nodes gather, a successor waits for any node, so thousands of joins need no
    // record.
    if (number() >= 0 && !too_few_gather() && roster_.size() > static_cast<std::size_t>(recorded_nodes_)) record();
    switch (phase_) {
        case Phase::adopting: return adopt(now, node, join);
        case Phase::gathering: return try_start(now);
        case Phase::running: return note_newcomer(now, node);
        case Phase::stopping: return expects_members() ? adopt(now, node, join) : void();
        case Phase::over: return;
    }
}

void Rounds::resumed(Time now, const Node& node, std::int32_t known_round) {
    if (phase_ == Phase::over) return send(node, End{stamp(), *verdict_});
    if (node.state == MemberState::running) {
        if (phase_ == Phase::running && known_round < number()) send(node, node.assigned);
        if (phase_ == Phase::stopping) send(node, order_to_stop());
    }
    const bool missed_its_admission = phase_ == Phase::running && node.state == MemberState::none &&
                                      may_admit_newcomers() && !admission_.waits(node.record.id);
    if (missed_its_admission) return note_newcomer(now, node);  // it was cut off at the time
    if (phase_ == Phase::gathering) try_start(now);
}

// --- gathering ------------------------------------------------------------------------------------------------------

std::size_t Rounds::limit() const {
    if (job_.scale_up == ScaleUp::never && first_group_size_ > 0) return static_cast<std::size_t>(first_group_size_);
    return static_cast<std::size_t>(job_.max_nodes);
}

Gathering::Nodes Rounds::nodes(Time now) const {
    // With too few nodes no round can start: save the search at each of thousands of joins.
    const std::size_t cooling = too_few_gather() ? 0 : admission_.cooling([this](const std::string& id) {
        const auto node = roster_.all().find(id);
        return node != roster_.all().end() && node->second.connection;
    });
    return {roster_.size(), roster_.connected(), roster_.connected() - cooling, limit(),
            expected_nodes_.any(now) ? group_size_ - std::min(group_size_, removed_.size()) : 0};
}

/// Counts connected nodes only: a spare that died without a Gone stays in the roster for a node time-out.
std::string Rounds::waiting() const {
    std::vector<std::string> present;
    for (const auto& [id, node] : roster_.all())
        if (node.connection && !admission_.is_cooling(id)) present.push_back(node.record.host);
    if (const auto left = gathering_.last_call(now_))
        return fmt::format("{} of at most {} nodes, which is enough: starting in {:.0f} s", present.size(), limit(),
                           std::chrono::duration<double>(*left).count());
    const auto missing =
        options_.expected_hosts.empty() ? lost_hosts_.names() : missing_hosts(options_.expected_hosts, present);
    const auto least = static_cast<std::size_t>(job_.min_nodes);
    return waiting_text(present.size(), present.size() < least ? least : limit(), missing);
}

/// Where the nodes are awaited, since when and for how long.
std::string Rounds::patience(Time now) const {
    if (gathering_.last_call(now)) return {};
    return fmt::format(" ({}{:.0f} s of at most {:g} s)", options_.place.empty() ? "" : options_.place + ", ",
                       std::chrono::duration<double>(gathering_.waited(now)).count(),
                       std::chrono::duration<double>(job_.join_timeout).count());
}

void Rounds::begin_gathering(Time now) {
    phase_ = Phase::gathering;
    gathering_.begin(now, job_, number() < 0, options_.first_progress, options_.progress);
}

void Rounds::gather(Time now) {
    begin_gathering(now);
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

/// Members of the last round first, then the nodes that have waited longest.
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
    const std::string change = change_to(chosen);
    lost_hosts_.round_begins();
    missed_nodes_ = false;
    missing_until_ = kNever;
    admission_.admitted();
    roster_.clear_states();
    removed_.clear();
    finished_.clear();
    record();
    assign(chosen);
    if (!change.empty()) tell(Notice{stamp(), change});
}

/// Users know of the loss; the new world is news. Empty: no node was lost.
std::string Rounds::change_to(const std::vector<Node*>& chosen) const {
    if (!lost_hosts_.any()) return {};
    std::vector<std::string> added;
    for (const Node* node : chosen)
        if (!node->survivor) added.push_back(node->record.host);
    return going_on_text(chosen.size(), lost_hosts_.names(), added);
}

void Rounds::tell(const Notice& notice) {
    if (!options_.one_console) return broadcast(notice);
    const auto place = [](const Node& node) {
        return std::tuple(!node.last_rank, node.last_rank.value_or(0), node.arrival);
    };
    const Node* first = nullptr;
    for (const auto& [id, node] : roster_.all())
        if (node.connection && (!first || place(node) < place(*first))) first = &node;
    if (first) send(*first, notice);
}

void Rounds::assign(const std::vector<Node*>& chosen) {
    Assigned common;
    common.stamp = stamp();
    common.restart_count = restarts_.used();
    common.max_restarts = job_.restarts.max_restarts;
    common.restart_reason = restart_reason_;
    common.progress = progress(cooldowns_.worst(now_, kToldHosts));
    Assignments assignments = assign_ranks(chosen, common, job_);
    for (auto& [id, node] : roster_.all()) node.survivor = false;
    if (!assignments.warning.empty()) tell(Notice{stamp(), assignments.warning});
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
    end_cooldowns(now);
    if (adoption_.has_timed_out(now)) end_adoption(now);
    if (now >= missing_until_) miss_nodes(now);
    if (phase_ == Phase::running && admission_.is_due(now)) admit_newcomers(now);
    if (phase_ != Phase::gathering) return;
    try_start(now);
    if (phase_ != Phase::gathering || !gathering_.progress_is_due(now)) return;
    const bool for_nodes = nodes(now).ready < static_cast<std::size_t>(job_.min_nodes);  // else for a pause to end
    if (for_nodes || now >= earliest_start()) tell(Notice{stamp(), waiting() + patience(now)});
}

Time Rounds::deadline() const {
    if (phase_ == Phase::over) return lingered_ ? kNever : next_look_;
    Time due = std::min(adoption_.until(), missing_until_);
    if (phase_ == Phase::running) due = std::min(due, admission_.deadline());
    if (phase_ == Phase::gathering) {
        due = std::min(due, gathering_.deadline(now_, earliest_start()));
        if (expected_nodes_.any(now_)) due = std::min(due, expected_nodes_.until());
    }
    return due;
}

}  // namespace dlaunch::rendezvous
