/// Connections and nodes: assigns messages to nodes, and admits nodes to the job.

#include "rendezvous/rounds/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/rounds/lease.hpp"

namespace dlaunch::rendezvous {

Coordinator::Coordinator(Options options, Time now, std::unique_ptr<const Rules> rules)
    : options_(std::move(options)),
      rules_(std::move(rules)),
      rounds_(options_, *rules_, roster_, outbox_, now),
      now_(now),
      had_members_(rounds_.number() >= 0),
      last_message_(now),
      next_look_(now + config().node_timeout / 20),
      standbys_(options_.host) {}

// --- the coordinator's own lease ------------------------------------------------------------------------------------

void Coordinator::granted(Time until) {
    if (!deposed_) lease_until_ = until;
}

/// Called before every event: a coordinator that was stalled past its lease must not renew a member's lease.
bool Coordinator::may_act(Time now) {
    if (!deposed_ && rules_->lease_has_ended(now, lease_until_)) depose("its claim was not renewed in time");
    if (deposed_) return false;
    pass_time(now);
    return true;
}

void Coordinator::depose(const std::string& reason) {
    for (const ConnectionId connection : roster_.connections()) outbox_.close(connection);
    deposed_ = true;
    deposed_reason_ = reason;
}

void Coordinator::resign(Time now) {
    if (!may_act(now)) return;
    outbox_.record();
    depose("it handed over");
    has_handed_over_ = true;
}

/// A stalled coordinator receives nothing: its own gap is no node's silence.
void Coordinator::pass_time(Time now) {
    const auto gap = now - now_ < config().node_timeout / 4 ? Time::duration(0) : now - now_;
    now_ = now;
    rounds_.pass(now, gap);
    last_message_ += gap;
    if (gap.count() > 0) roster_.excuse(gap);
}

void Coordinator::end_job(Time now, int status, const std::string& reason, bool at_once) {
    if (may_act(now)) rounds_.end_job(now, status, reason, at_once);
}

void Coordinator::no_more_hosts(Time now) {
    if (may_act(now)) rounds_.no_more_hosts(now);
}

void Coordinator::warn(const std::string& text) {
    if (!deposed_) rounds_.tell(Notice{rounds_.stamp(), text});
}

// --- messages -------------------------------------------------------------------------------------------------------

void Coordinator::received(Time now, ConnectionId connection, const Message& message) {
    if (!may_act(now)) return outbox_.close(connection);
    if (Node* node = roster_.node_of(connection)) {
        on_member(now, connection, *node, message);
        return name_standbys();
    }
    if (const auto* hello = std::get_if<Hello>(&message)) return on_hello(connection, *hello);
    if (!roster_.greeted(connection)) {
        outbox_.close(connection);
    } else if (const auto* join = std::get_if<Join>(&message)) {
        on_join(now, connection, *join);
        name_standbys();
    } else if (const auto* beat = std::get_if<Beat>(&message)) {
        outbox_.send(connection, Beat{rounds_.stamp(), beat->number});  // a probe
    }
}

void Coordinator::on_hello(ConnectionId connection, const Hello& hello) {
    if (hello.version != options_.version)
        return refuse(
            connection, false, exit_status::kRefused,
            fmt::format("this is dlaunch {}, the coordinator is dlaunch {}", hello.version, options_.version));
    if (hello.job_id != options_.job_id)
        return refuse(
            connection, false, exit_status::kRefused,
            fmt::format("this is job \"{}\", the coordinator serves job \"{}\"", hello.job_id, options_.job_id));
    roster_.greet(connection);
}

void Coordinator::refuse(ConnectionId connection, bool rejoin, int status, std::string reason) {
    outbox_.send(connection, Refused{rejoin, status, std::move(reason)});
    outbox_.close(connection);
    roster_.drop(connection);
}

void Coordinator::on_join(Time now, ConnectionId connection, const Join& join) {
    highest_epoch_ = std::max(highest_epoch_, join.stamp.epoch);
    if (rules_->is_replaced(join.stamp.epoch, options_.epoch))
        return depose(fmt::format("{} reports a coordinator of epoch {}; this one has epoch {}", join.record.host,
                                  join.stamp.epoch, options_.epoch));
    if (join.stamp.epoch == options_.epoch && join.coordinator != 0 && join.coordinator != options_.incarnation)
        return refuse(connection, true, 0, "another coordinator of the same epoch has served this node");
    Node* known = roster_.find(join.record.id);
    if (known && known->incarnation == join.stamp.incarnation) return resume(now, connection, *known, join);
    if (known && known->incarnation > join.stamp.incarnation)
        return refuse(connection, true, 0, "a later incarnation of this node has joined");
    if (known) rounds_.evict(now, *known);  // the next incarnation joins only after the workers of this one have died
    const auto removed = roster_.removed_incarnation(join.record.id);
    if (phase() == Phase::over) {
        if (removed || join.job) return admit(now, connection, join);  // a former member: it receives the verdict
        return refuse(connection, false, verdict()->status ? verdict()->status : exit_status::kRefused,
                      verdict()->reason.empty() ? "the job has ended" : "the job has ended: " + verdict()->reason);
    }
    if (removed && *removed >= join.stamp.incarnation)
        return refuse(connection, true, 0, "this node was silent for too long");
    if (const Node* holder = holder_of(now, join.record))
        return refuse(connection, false, exit_status::kRefused,
                      fmt::format("node rank {} is {}'s, expected another --node-rank, or another port for another job",
                                  *join.record.node_rank, holder->record.host));
    if (roster_.workers() + join.record.workers() > INT32_MAX)
        return refuse(connection, false, exit_status::kRefused,
                      fmt::format("the job would have more than {} workers", INT32_MAX));
    if (rounds_.was_removed(join)) return refuse(connection, true, 0, "this node was removed from the round");
    if (join.running && join.running->alive && !rounds_.may_be_adopted(join)) {
        rounds_.meets_foreign_round(now);
        return refuse(connection, true, 0, "the coordinator does not know the round that this node runs");
    }
    admit(now, connection, join);
}

void Coordinator::admit(Time now, ConnectionId connection, const Join& join) {
    Node& node = roster_.add(now, connection, join);
    had_members_ = true;
    last_message_ = now;
    rounds_.introduced(join);
    welcome(connection, join);
    report_differences(node, join);
    rounds_.joined(now, node, join);
}

/// After a reconnect both sides send their state again.
void Coordinator::resume(Time now, ConnectionId connection, Node& node, const Join& join) {
    if (const ConnectionId earlier = roster_.attach(now, node, connection)) outbox_.close(earlier);
    last_message_ = now;
    welcome(connection, join);
    rounds_.resumed(now, node, join.stamp.round);
}

/// With fixed ranks: the running node with the rank that a newcomer claims. Null without such a node, or if it was
/// silent for so long that the newcomer may be its replacement.
const Node* Coordinator::holder_of(Time now, const NodeRecord& newcomer) const {
    if (!config().fixed_ranks || !newcomer.node_rank || phase() != Phase::running) return nullptr;
    for (const Node* node : roster_.claimants(*newcomer.node_rank)) {
        const bool is_present = node->connection && now - node->last_received < config().node_timeout / 2;
        if (node->state == MemberState::running && is_present) return node;
    }
    return nullptr;
}

void Coordinator::welcome(ConnectionId connection, const Join& join) {
    outbox_.send(connection, Welcome{rounds_.stamp(), join.beat, config(), options_.host});
    if (!standbys_.empty()) outbox_.send(connection, Standbys{rounds_.stamp(), standbys_.places(roster_)});
}

/// At a fixed address no other node can take over.
void Coordinator::name_standbys() {
    if (deposed_ || lease_until_ == kNever || phase() == Phase::over) return;
    if (standbys_.renew(roster_, rounds_.number()))
        outbox_.broadcast(roster_, Standbys{rounds_.stamp(), standbys_.places(roster_)});
}

/// Reports options of this node that differ from the job's, and a program that no other node runs.
void Coordinator::report_differences(const Node& node, const Join& join) {
    const bool new_program = programs_.add(join.record.program);
    if (join.stamp.incarnation > 1) return;  // reported before
    if (new_program && rounds_.number() >= 0 && phase() != Phase::adopting && options_.job_id == kUnnamedJob &&
        join.record.blocks.front().role == options_.role && join.record.program != options_.program)
        rounds_.tell(Notice{rounds_.stamp(),
                            fmt::format("{} joins with program {}, but the job runs {}; give each job its own "
                                        "port and --rdzv-id",
                                        node.record.host, Programs::shown(join.record.program), options_.program)});
    if (!join.own_config) return;
    const auto differences = [](const JobConfig& config, const JobConfig& other) {
        std::string words;
        if (config.min_nodes != other.min_nodes || config.max_nodes != other.max_nodes)
            words = config.min_nodes == config.max_nodes
                        ? fmt::format(" --nnodes={}", config.max_nodes)
                        : fmt::format(" --nnodes={}:{}", config.min_nodes, config.max_nodes);
        if (config.restarts.max_restarts != other.restarts.max_restarts)
            words += fmt::format(" --max-restarts={}", config.restarts.max_restarts);
        if (config.relays_store != other.relays_store)
            words += config.relays_store ? " --store=relay" : " --store=open";
        return words;
    };
    const std::string theirs = differences(*join.own_config, config());
    if (theirs.empty()) return;
    outbox_.send(node.connection,
                 Notice{rounds_.stamp(),
                        fmt::format("this node has{}; the job runs with{} of {}, which hosts the coordinator", theirs,
                                    differences(config(), *join.own_config), options_.host),
                        true});
}

void Coordinator::on_member(Time now, ConnectionId connection, Node& node, const Message& message) {
    const auto fits = [&](const Stamp& sent) {
        if (sent.epoch != options_.epoch || sent.incarnation != node.incarnation) return false;
        node.last_received = last_message_ = now;
        return true;
    };
    if (const auto* beat = std::get_if<Beat>(&message)) {
        if (fits(beat->stamp))
            outbox_.send(connection,
                         Beat{rounds_.stamp(), beat->number, beat_pause(config().node_timeout, roster_.size())});
    } else if (const auto* report = std::get_if<Report>(&message)) {
        if (fits(report->stamp) && report->stamp.round == rounds_.number()) rounds_.reported(now, node, *report);
    } else if (const auto* leave = std::get_if<Leave>(&message)) {
        if (fits(leave->stamp)) rounds_.leaves(now, node, *leave);
    } else if (const auto* gone = std::get_if<Gone>(&message)) {
        rounds_.evict(now, node, gone->returns);
    } else if (!std::holds_alternative<Join>(message)) {
        outbox_.close(connection);  // no member sends this
    }
}

/// Even a FIN is only a cut: a proxy in between may have been restarted. The lease, or a Gone, evicts the node.
void Coordinator::closed(Time now, ConnectionId connection, bool by_fin) {
    if (!may_act(now)) return;
    Node* node = roster_.node_of(connection);
    if (!node) return roster_.drop(connection);
    if (phase() == Phase::over && by_fin)
        roster_.remove(now, *node);  // it has received the verdict, else it rejoins
    else
        roster_.detach(*node);
}

// --- time -----------------------------------------------------------------------------------------------------------

void Coordinator::evict_silent(Time now) {
    next_look_ = now + config().node_timeout / 20;
    std::vector<std::string> silent;
    for (const Node* node : roster_.silent(now, rules_->silence_limit(config().node_timeout)))
        silent.push_back(node->record.id);
    for (const std::string& id : silent)
        if (Node* node = roster_.find(id)) rounds_.evict(now, *node);
}

void Coordinator::tick(Time now) {
    if (!may_act(now)) return;
    if (phase() == Phase::over) return rounds_.tick(now);
    if (lease_until_ != kNever && had_members_ && now - last_message_ >= config().node_timeout) {
        outbox_.record();
        return depose("no member reaches it");  // another coordinator may serve them
    }
    if (now >= next_look_) evict_silent(now);
    rounds_.tick(now);
    name_standbys();
}

Time Coordinator::deadline() const {
    if (deposed_) return kNever;
    const Time due = std::min(rounds_.deadline(), lease_until_);
    return phase() == Phase::over ? due : std::min(due, next_look_);
}

}  // namespace dlaunch::rendezvous
