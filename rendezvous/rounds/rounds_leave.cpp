/// The leave of a node: only this node leaves, or the job ends.

#include <fmt/format.h>

#include "rendezvous/rounds/rounds.hpp"

namespace dlaunch::rendezvous {

bool Rounds::enough_without(const Node& leaver) const {
    const std::size_t stay = roster_.size() - roster_.leaving() - (leaver.leaving ? 0 : 1);
    return stay >= static_cast<std::size_t>(job_.min_nodes);
}

/// True while the round is being stopped for a failure that ends the job. A leaving node waits for that verdict; only a
/// loss can still replace it.
bool Rounds::failure_ends_job() const {
    return phase_ == Phase::stopping && !blame_.decided() && blame_.counts() &&
           (restarts_.spent() || blame_.causes().first().permanent);
}

bool Rounds::job_survives(const Node& leaver) const {
    if (leaver.record.hosts_coordinator || leaver.leaving->scope == Leave::Scope::job) return false;
    if (leaver.leaving->scope == Leave::Scope::node) return true;
    const bool is_spare = leaver.state == MemberState::none && phase_ != Phase::gathering;
    return is_spare || (is_elastic() && (phase_ == Phase::gathering || enough_without(leaver)));
}

void Rounds::leaves(Time now, Node& node, const Leave& leave) {
    if (leave.at_once && phase_ == Phase::stopping && (blame_.decided() || failure_ends_job()))
        broadcast(order_to_stop(true));
    if (node.leaving || phase_ == Phase::over) return;
    if (leave.workers_too && phase_ == Phase::stopping && blame_.excuse_same_moment(now)) {
        restart_reason_ = fmt::format("{} on {}", leave.reason, node.record.host);
        record();
        tell(Notice{stamp(), restart_reason_ + ": failures just before it are not counted"});
    }
    const bool failed_first = failure_ends_job();
    roster_.set_leaving(node, leave);
    if (!must_wait(node)) answer_leave(now, node, failed_first);
}

/// Whether the answer to a leave depends on members that may still join.
bool Rounds::must_wait(const Node& leaver) const {
    if (!is_settling() || leaver.record.hosts_coordinator || leaver.leaving->scope == Leave::Scope::job) return false;
    return leaver.leaving->scope == Leave::Scope::node || is_elastic() || leaver.state == MemberState::none;
}

void Rounds::answer_leave(Time now, Node& node, bool failed_first) {
    job_survives(node) ? release_one_node(now, node, failed_first) : end_job_for_leave(now, node);
}

/// Answers the leaves that had to wait.
void Rounds::answer_leaves(Time now) {
    if (roster_.leaving() == 0) return;
    std::vector<std::string> leavers;
    for (const auto& [id, node] : roster_.all())
        if (node.leaving) leavers.push_back(id);
    for (const std::string& id : leavers)
        if (Node* node = roster_.find(id); node && phase_ != Phase::over) answer_leave(now, *node, failure_ends_job());
}

/// Only this node leaves. If it runs workers the other nodes begin a new round; but Scope::node_if_enough does not end
/// a round that some members have finished.
void Rounds::release_one_node(Time now, Node& node, bool failed_first) {
    const Leave leave = *node.leaving;
    const bool runs = node.state == MemberState::running;
    const bool has_stopped = node.state == MemberState::stopped;  // while its leave had to wait
    const std::string reason = fmt::format("{} on {}", leave.reason, node.record.host);
    if (!runs && !failed_first) release(now, node);
    if (phase_ == Phase::running && (runs || has_stopped)) {
        if (about_to_end() && leave.scope == Leave::Scope::node_if_enough)
            blame_.excuse();
        else
            stop(now, reason);
    }
    if (phase_ == Phase::gathering) try_start(now);
}

void Rounds::end_job_for_leave(Time now, Node& node) {
    const Leave& leave = *node.leaving;
    std::string reason = fmt::format("{} on {}", leave.reason, node.record.host);
    if (leave.scope == Leave::Scope::node_if_enough && is_elastic())
        reason += enough_without(node) ? ", which hosts the coordinator: the job ends with it"
                                       : ": too few nodes are left, the job ends";
    if (!blame_.decided()) decide(leave.status, reason, leave.scope == Leave::Scope::job || !blame_.causes().empty());
    if (phase_ == Phase::running || (phase_ == Phase::adopting && roster_.count(MemberState::running) > 0))
        return stop(now, reason);
    if (phase_ == Phase::stopping) return;
    const Verdict decided = *blame_.decided();
    finish(now, decided.status, decided.reason, false);
}

/// The node leaves with its own verdict; the job continues.
void Rounds::release(Time now, Node& node) {
    send(node, End{stamp(), {node.leaving->status, node.leaving->reason, {}}});
    admission_.gone(node.record.id);
    const ConnectionId connection = node.connection;
    note_gone(node, false);
    roster_.remove(now, node);
    if (connection) roster_.greet(connection);  // the node closes the connection, and sends nothing more
}

}  // namespace dlaunch::rendezvous
