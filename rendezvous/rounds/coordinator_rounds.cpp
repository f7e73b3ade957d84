/// The coordinator's decisions: when a round starts, ends, is tried again, and when the job is over.

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/rounds/ranks.hpp"
#include "rendezvous/rounds/waiting.hpp"

namespace dlaunch::rendezvous {

/// The word of a node whose workers were ended together with it comes later than that of others who lost them.
constexpr auto kSameMoment = Milliseconds(500);

std::size_t Coordinator::limit() const {
    if (options_.scale_up == ScaleUp::never && first_size_ > 0) return first_size_;
    return static_cast<std::size_t>(options_.max_nodes);
}

std::string Coordinator::waiting() const {
    std::vector<std::string> present;
    for (const auto& [id, node] : nodes_) present.push_back(node.record.host);
    const auto missing =
        options_.expected_hosts.empty() ? lost_hosts_ : missing_hosts(options_.expected_hosts, present);
    const auto want = static_cast<std::size_t>(options_.min_nodes);
    return waiting_text(std::min(present.size(), want), want, missing);
}

// --- a round begins -------------------------------------------------------------------------------------------------

void Coordinator::gather(Time now) {
    phase_ = Phase::gathering;
    gather_until_ = now + options_.join_timeout;
    next_progress_ = now + options_.progress;
    last_call_until_ = kNever;
    for (auto at = nodes_.begin(); at != nodes_.end();) {
        auto node = at++;
        if (node->second.leaving) dismiss(node);
    }
    try_start(now);
}

void Coordinator::try_start(Time now) {
    if (now < not_before_ || nodes_.size() < static_cast<std::size_t>(options_.min_nodes)) return;
    if (connected_ >= limit()) return start(now, limit());
    if (connected_ < static_cast<std::size_t>(options_.min_nodes)) {
        last_call_until_ = kNever;
        return;
    }
    if (connected_ < nodes_.size()) return;  // somebody is cut off and comes back, or is lost soon
    if (round_ < 0 && last_call_until_ == kNever) last_call_until_ = now + options_.last_call;
    if (round_ >= 0 || now >= last_call_until_) start(now, limit());
}

void Coordinator::on_join_timeout(Time now) {
    if (connected_ >= static_cast<std::size_t>(options_.min_nodes) && now >= not_before_) return start(now, limit());
    finish(now, exit_status::kRendezvousTimeout,
           fmt::format("rendezvous timed out after {:g} s: {}",
                       static_cast<double>(options_.join_timeout.count()) / 1e3, waiting()),
           false);
}

/// Of the two kinds of addresses that a node may have the one that all of them have, where there is one.
std::string Coordinator::reachable_for_all(const NodeRecord& host, const std::vector<Node*>& all) {
    const auto is_six = [](const std::string& address) { return address.find(':') != std::string::npos; };
    const auto all_have = [&](bool six) {
        return std::all_of(all.begin(), all.end(), [&](const Node* node) {
            const std::string& other = node->record.other_address;
            return is_six(node->record.address) == six || (!other.empty() && is_six(other) == six);
        });
    };
    const bool other_is_better =
        !host.other_address.empty() && !all_have(is_six(host.address)) && all_have(is_six(host.other_address));
    return other_is_better ? host.other_address : host.address;
}

/// Members of the last round first, then who waited longest.
void Coordinator::start(Time now, std::size_t limit) {
    std::vector<Node*> chosen;
    for (auto& [id, node] : nodes_) {
        node.part = Part::none;
        if (node.connection) chosen.push_back(&node);
    }
    std::sort(chosen.begin(), chosen.end(), [](const Node* left, const Node* right) {
        if (left->survivor != right->survivor) return left->survivor;
        return left->arrival < right->arrival;
    });
    if (chosen.size() > limit) chosen.resize(limit);

    std::vector<Seat> seats;
    seats.reserve(chosen.size());
    for (const Node* node : chosen)
        seats.push_back({node->record.host, node->record.order_key, node->record.node_rank, node->last_rank,
                         node->survivor, node->arrival, node->record.slots, node->record.role});
    const Placements placements = place(seats);
    const auto first = static_cast<std::size_t>(std::find_if(placements.of.begin(), placements.of.end(),
                                                             [](const Placement& at) { return at.group_rank == 0; }) -
                                                placements.of.begin());
    const std::string master_address = reachable_for_all(chosen[first]->record, chosen);
    if (!placements.warning.empty()) broadcast(Tell{stamp(), placements.warning});

    phase_ = Phase::running;
    ++round_;
    round_began_ = now;
    group_size_ = unfinished_ = chosen.size();
    if (first_size_ == 0) first_size_ = group_size_;
    causes_.clear();
    blameless_ = false;
    lost_hosts_.clear();
    for (auto& [id, node] : nodes_) node.survivor = false;
    for (std::size_t at = 0; at < chosen.size(); ++at) {
        const Placement& place = placements.of[at];
        Assigned assigned;
        assigned.stamp = stamp();
        assigned.group_rank = place.group_rank;
        assigned.group_world_size = static_cast<std::int32_t>(chosen.size());
        assigned.first_rank = place.first_rank;
        assigned.world_size = place.world_size;
        assigned.local_world_size = chosen[at]->record.slots;
        assigned.first_role_rank = place.first_role_rank;
        assigned.role_world_size = place.role_world_size;
        assigned.master_addr = options_.master_addr.empty() ? master_address : options_.master_addr;
        assigned.master_port = options_.master_port.value_or(chosen[first]->record.store_port);
        assigned.restart_count = restarts_.used();
        assigned.max_restarts = options_.restarts.max_restarts;
        assigned.restart_reason = restart_reason_;
        assign(*chosen[at], assigned);
    }
}

void Coordinator::assign(Node& node, const Assigned& assigned) {
    node.part = Part::running;
    node.survivor = true;
    node.last_rank = assigned.group_rank;
    node.assigned = assigned;
    send(node.connection, assigned);
}

// --- a round is taken over ------------------------------------------------------------------------------------------

/// The latest round counts. Whoever stands in an earlier one was left behind when it was over; nothing of it lives
/// there.
void Coordinator::adopt(Time now, Node& node, const Join& join) {
    if (join.latest_round > round_) {
        for (auto& [id, other] : nodes_) other.part = Part::none;
        group_size_ = unfinished_ = 0;
        round_ = join.latest_round;
    }
    if (!join.standing || join.stamp.round < round_) return;
    const Standing& standing = *join.standing;
    if (group_size_ == 0) {
        round_began_ = now;
        first_size_ = group_size_ = static_cast<std::size_t>(standing.group_world_size);
        restarts_ = Restarts(options_.restarts, standing.restart_count);
    }
    node.part = Part::running;
    node.survivor = true;
    node.last_rank = standing.group_rank;
    node.assigned = {.stamp = stamp(), .local_world_size = 0};  // which ranks are its was the old coordinator's to know
    ++unfinished_;
    review(now);
}

/// After a change in a running or adopted round.
void Coordinator::review(Time now) {
    if (phase_ == Phase::adopting) {
        const auto members =
            std::count_if(nodes_.begin(), nodes_.end(), [](const auto& at) { return at.second.part != Part::none; });
        if (static_cast<std::size_t>(members) < group_size_) return;
        phase_ = Phase::running;
        for (const auto& [id, node] : nodes_)
            if (node.leaving && node.part == Part::running && !about_to_end())
                return stop_round(now, fmt::format("{} on {}", node.leaving->reason, node.record.host));
    }
    if (phase_ != Phase::running) return;
    if (!causes_.empty()) return stop_round(now, causes_.first().summary, causes_.first().lost);
    const bool stopped =
        std::any_of(nodes_.begin(), nodes_.end(), [](const auto& at) { return at.second.part == Part::stopped; });
    if (stopped) return stop_round(now, "a node has stopped its workers");
    if (unfinished_ == 0) finish(now, 0, {}, false);
}

// --- a round ends ---------------------------------------------------------------------------------------------------

void Coordinator::take_part_away(Node& node, Part part) {
    if (node.part == Part::running) --unfinished_;
    node.part = part;
}

void Coordinator::on_report(Time now, Node& node, const Report& report) {
    if (node.part != Part::running) return;  // said before
    const bool goes_alone = node.leaving && phase_ == Phase::running;
    if (report.cause && !goes_alone) {
        if (causes_.empty()) caused_at_ = now;
        causes_.add(node.record.id, *report.cause);
    }
    if (report.phase == Report::Phase::over) take_part_away(node, report.succeeded ? Part::done : Part::stopped);

    if (node.leaving && !verdict_ && !failure_ends_job() &&
        node.part != Part::running) {  // it need not wait for the others' grace
        dismiss(nodes_.find(node.record.id));
        if (phase_ == Phase::stopping && unfinished_ == 0) return judge(now);
        return goes_alone ? review(now) : void();
    }
    if (goes_alone) return;
    if (phase_ == Phase::stopping && unfinished_ == 0) return judge(now);
    if (phase_ != Phase::running && phase_ != Phase::adopting) return;
    if (report.phase == Report::Phase::failed || !report.succeeded)
        return phase_ == Phase::running && causes_.empty()
                   ? stop_round(now, fmt::format("{} has stopped its workers", node.record.host))
                   : review(now);
    if (unfinished_ == 0) review(now);
}

void Coordinator::stop_round(Time now, const std::string& reason, const LostRanks& lost) {
    phase_ = Phase::stopping;
    restart_reason_ = reason;
    stopped_for_ = lost;
    blameless_ = blameless_ || causes_.empty();
    Send send{{}, StopRound{stamp(), reason, lost}};
    for (const auto& [id, node] : nodes_)
        if (node.part != Part::none && node.connection) send.to.push_back(node.connection);
    if (!send.to.empty()) actions_.emplace_back(std::move(send));
    if (unfinished_ == 0) judge(now);
}

/// Nobody of the round lives: what now?
void Coordinator::judge(Time now) {
    if (verdict_ && (blameless_ || !failed_first_)) return finish(now, verdict_->status, verdict_->reason, blame_);
    // Workers that died because their peers were stopped or lost have not failed by themselves.
    if (!causes_.empty() && (!blameless_ || causes_.first().permanent)) return judge_failure(now);
    if (!causes_.empty() && !lost_hosts_.empty())
        broadcast(Tell{stamp(), fmt::format("restarting all workers, as {} was lost", lost_hosts_.back())});
    gather(now);
}

void Coordinator::judge_failure(Time now) {
    using Kind = RestartDecision::Kind;
    const Cause& cause = causes_.first();
    const auto lasted = std::chrono::duration_cast<Milliseconds>(now - round_began_);
    const RestartDecision decision = restarts_.on_failure({lasted, cause.kind, cause.permanent});
    if (decision.kind == Kind::crash_loop) return finish(now, exit_status::kGiveUp, restarts_.told(decision), true);
    if (decision.kind != Kind::restart)
        return finish(now, cause.status, cause.record.empty() ? cause.summary : std::string(), true);

    tell_restart(cause, restarts_.told(decision));
    restart_reason_ = cause.summary;
    not_before_ = std::max(not_before_, now + decision.pause);
    gather(now);
}

/// Who was stopped for the failure has heard of it; who had finished, who waits, and who had one of his own has not.
void Coordinator::tell_restart(const Cause& cause, const std::string& what) {
    Send to_stopped{{}, Tell{stamp(), what}}, to_others{{}, Tell{stamp(), cause.summary + ": " + what}};
    for (const auto& [id, node] : nodes_)
        if (node.connection)
            (node.part == Part::stopped && !causes_.is_later(id) ? to_stopped : to_others)
                .to.push_back(node.connection);
    for (Send* send : {&to_stopped, &to_others})
        if (!send->to.empty()) actions_.emplace_back(std::move(*send));
}

void Coordinator::finish(Time now, int status, std::string reason, bool with_causes) {
    phase_ = Phase::over;
    verdict_ = End{stamp(), status, std::move(reason), with_causes ? causes_.records() : std::vector<std::string>{}};
    linger_until_ = now + options_.node_timeout;
    broadcast(*verdict_);
}

// --- somebody goes --------------------------------------------------------------------------------------------------

bool Coordinator::enough_without(const Node& leaver) const {
    const auto stay = std::count_if(nodes_.begin(), nodes_.end(),
                                    [&](const auto& at) { return &at.second != &leaver && !at.second.leaving; });
    return stay >= options_.min_nodes;
}

/// Some have finished: another round would run their ranks again. The others end this one, with or without a leaver.
bool Coordinator::about_to_end() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& at) { return at.second.part == Part::done; });
}

/// The round is being stopped for a failure after which nothing is tried again. Whoever is asked to end now waits for
/// that end, whose status stands, unless somebody turns out to be lost.
bool Coordinator::failure_ends_job() const {
    return phase_ == Phase::stopping && !verdict_ && !causes_.empty() && !blameless_ &&
           (restarts_.spent() || causes_.first().permanent);
}

void Coordinator::on_leave(Time now, Node& node, const Leave& leave) {
    if (leave.at_once && phase_ == Phase::stopping && (verdict_ || failure_ends_job()))
        broadcast(StopRound{stamp(), restart_reason_, stopped_for_, true});
    if (node.leaving || phase_ == Phase::over) return;
    if (leave.workers_too && phase_ == Phase::stopping && !blameless_ && now - caused_at_ < kSameMoment) {
        blameless_ = true;
        restart_reason_ = fmt::format("{} on {}", leave.reason, node.record.host);
        broadcast(Tell{stamp(), restart_reason_ + ": what failed in the moment before does not count"});
    }
    const bool failed_first = failure_ends_job();
    node.leaving = leave;
    const bool spare = node.part == Part::none && (phase_ == Phase::running || phase_ == Phase::stopping);
    const bool runs = node.part == Part::running;
    const bool others_go_on = !node.record.hosts_coordinator && leave.scope != Leave::Scope::job &&
                              (spare || leave.scope == Leave::Scope::node ||
                               (options_.min_nodes < options_.max_nodes &&
                                (phase_ == Phase::gathering || enough_without(node))));  // who gathers waits anyway
    std::string reason = fmt::format("{} on {}", leave.reason, node.record.host);
    if (!others_go_on) {
        if (leave.scope == Leave::Scope::node_if_enough && options_.min_nodes < options_.max_nodes)
            reason += enough_without(node) ? ", which hosts the meeting: the job ends with it"
                                           : ": too few nodes are left, the job ends";
        if (!verdict_) {
            verdict_ = End{stamp(), leave.status, reason, {}};
            blame_ = leave.scope == Leave::Scope::job || !causes_.empty();
            failed_first_ = failed_first;
        }
        if (phase_ == Phase::running || (phase_ == Phase::adopting && unfinished_ > 0)) return stop_round(now, reason);
        if (phase_ != Phase::stopping) finish(now, verdict_->status, verdict_->reason, false);
        return;
    }
    if (!runs && !failed_first) dismiss(nodes_.find(node.record.id));
    if (phase_ == Phase::running && runs) {
        if (about_to_end() && leave.scope == Leave::Scope::node_if_enough)
            blameless_ = true;
        else
            stop_round(now, reason);
    }
    if (phase_ == Phase::gathering) try_start(now);
}

}  // namespace dlaunch::rendezvous
