/// Connections and nodes: which message comes from which node, and what a node that comes back is sent.

#include "rendezvous/rounds/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::rendezvous {

Coordinator::Coordinator(Options options, Time now)
    : options_(std::move(options)),
      job_(options_.snapshot ? options_.snapshot->config : static_cast<const JobConfig&>(options_)),
      restarts_(job_.restarts),
      cooldowns_(job_.cooldown),
      now_(now),
      began_(now),
      last_message_(now),
      next_look_(now + job_.node_timeout / 20) {
    if (options_.succeeds || options_.snapshot) {
        succeed(now);
    } else {
        record();
        gather(now);
    }
}

std::vector<Coordinator::Action> Coordinator::take_actions() { return std::exchange(actions_, {}); }

Snapshot Coordinator::snapshot() const {
    const bool is_stopping = phase_ == Phase::stopping && !round_over_;
    return {options_.epoch,
            job_,
            {restarts_.counters(), first_group_size_},
            round_,
            static_cast<std::int32_t>(is_stopping && !awaits_members() ? roster_.members() : group_size_),
            round_over_,
            numbers_are_known_,
            restart_reason_,
            cooldowns_.snapshot(now_),
            verdict_,
            is_stopping ? std::optional(blame_.pending(restart_reason_)) : std::nullopt};
}

void Coordinator::send(ConnectionId connection, Message message) {
    if (connection) actions_.emplace_back(Send{{connection}, std::move(message)});
}

void Coordinator::broadcast(const Message& message) {
    Send send{{}, message};
    for (const auto& [id, node] : roster_.all())
        if (node.connection) send.to.push_back(node.connection);
    if (!send.to.empty()) actions_.emplace_back(std::move(send));
}

// --- the coordinator's own lease ------------------------------------------------------------------------------------

void Coordinator::granted(Time until) {
    if (phase_ != Phase::deposed) lease_until_ = until;
}

/// First of all in every call: a coordinator that stood still past its lease must not renew anybody else's.
bool Coordinator::may_act(Time now) {
    if (phase_ != Phase::deposed && lease_has_ended(now)) depose("its claim was not renewed in time");
    if (phase_ == Phase::deposed) return false;
    pass_time(now);
    return true;
}

void Coordinator::depose(const std::string& reason) {
    for (const ConnectionId connection : roster_.connections()) actions_.emplace_back(Close{connection});
    phase_ = Phase::deposed;
    deposed_reason_ = reason;
}

void Coordinator::resign(Time now) {
    if (!may_act(now)) return;
    record();
    depose("it handed over");
}

/// A coordinator that stood still received nothing meanwhile: its own gap is no node's silence.
void Coordinator::pass_time(Time now) {
    const auto gap = now - now_;
    now_ = now;
    if (gap < job_.node_timeout / 4) return;
    roster_.excuse(gap);
    blame_.pass(gap);
    last_message_ += gap;
    if (adopt_until_ != kNever) adopt_until_ += gap;
}

// --- messages -------------------------------------------------------------------------------------------------------

void Coordinator::received(Time now, ConnectionId connection, const Message& message) {
    if (!may_act(now)) {
        actions_.emplace_back(Close{connection});
        return;
    }
    if (Node* node = roster_.node_of(connection)) return on_member(now, connection, *node, message);
    if (const auto* hello = std::get_if<Hello>(&message)) return on_hello(connection, *hello);
    if (!roster_.greeted(connection)) {
        actions_.emplace_back(Close{connection});
    } else if (const auto* join = std::get_if<Join>(&message)) {
        on_join(now, connection, *join);
    } else if (const auto* beat = std::get_if<Beat>(&message)) {
        send(connection, Beat{stamp(), beat->number});  // a probe
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
    send(connection, Refused{rejoin, status, std::move(reason)});
    actions_.emplace_back(Close{connection});
    roster_.drop(connection);
}

void Coordinator::on_join(Time now, ConnectionId connection, const Join& join) {
    highest_epoch_ = std::max(highest_epoch_, join.stamp.epoch);
    if (join.stamp.epoch > options_.epoch)
        return depose(fmt::format("{} has met a coordinator of epoch {}, this is epoch {}", join.record.host,
                                  join.stamp.epoch, options_.epoch));
    if (join.stamp.epoch == options_.epoch && join.coordinator != 0 && join.coordinator != options_.incarnation)
        return refuse(connection, true, 0, "another coordinator of the same epoch has served this node");
    Node* known = roster_.find(join.record.id);
    if (known && known->incarnation == join.stamp.incarnation) return resume(now, connection, *known, join);
    if (known && known->incarnation > join.stamp.incarnation)
        return refuse(connection, true, 0, "a later incarnation of this node has joined");
    if (known) evict(now, *known);  // the next incarnation joins only when nothing of this one runs any more
    const auto removed = roster_.removed_incarnation(join.record.id);
    if (phase_ == Phase::over) {
        if (removed || join.job) return admit(now, connection, join);  // it was part of the job, and ends with it
        return refuse(connection, false, verdict_->status ? verdict_->status : exit_status::kRefused,
                      verdict_->reason.empty() ? "the job has ended" : "the job has ended: " + verdict_->reason);
    }
    if (removed && *removed >= join.stamp.incarnation)
        return refuse(connection, true, 0, "this node was silent for too long");
    if (const Node* holder = holder_of(now, join.record))
        return refuse(connection, false, exit_status::kRefused,
                      fmt::format("node rank {} is {}'s, expected another --node-rank, or another port for another job",
                                  *join.record.node_rank, holder->record.host));
    if (roster_.slots() + join.record.slots > INT32_MAX)
        return refuse(connection, false, exit_status::kRefused,
                      fmt::format("the job would have more than {} workers", INT32_MAX));
    const bool runs_a_round = join.running && join.running->alive;
    const bool is_latest = join.stamp.round >= std::max(round_, join.latest_round);
    const bool may_be_adopted =
        is_latest &&
        (phase_ == Phase::adopting || (phase_ == Phase::stopping && awaits_members() && join.stamp.round == round_));
    if (runs_a_round && !may_be_adopted)
        return refuse(connection, true, 0, "this coordinator does not know the round that runs here");
    admit(now, connection, join);
}

/// The node that runs as the rank that a newcomer claims, where ranks are fixed. Null where there is none, or where it
/// was silent for so long that the newcomer may be its replacement.
const Node* Coordinator::holder_of(Time now, const NodeRecord& newcomer) const {
    if (!job_.fixed_ranks || !newcomer.node_rank || phase_ != Phase::running) return nullptr;
    for (const auto& [id, node] : roster_.all()) {
        const bool is_heard = node.connection && now - node.last_heard < job_.node_timeout / 2;
        if (node.state == MemberState::running && node.record.node_rank == newcomer.node_rank && is_heard) return &node;
    }
    return nullptr;
}

void Coordinator::welcome(ConnectionId connection, const Join& join) {
    send(connection, Welcome{stamp(), join.beat, job_, options_.host});
}

/// Options of this node's user that differ from the job's, and a program that no other node has brought.
void Coordinator::report_differences(const Node& node, const Join& join) {
    const bool new_program = programs_.insert(join.record.program).second;
    if (join.stamp.incarnation > 1) return;  // reported before
    if (new_program && round_ >= 0 && phase_ != Phase::adopting && options_.job_id == kUnnamedJob &&
        join.record.role == options_.role && join.record.program != options_.program)
        broadcast(Tell{stamp(), fmt::format("{} brings {} to a job of {}; another job needs another port, and an "
                                            "--rdzv-id for each",
                                            node.record.host, join.record.program, options_.program)});
    if (!join.told) return;
    const auto differences = [](const JobConfig& config, const JobConfig& other) {
        std::string words;
        if (config.min_nodes != other.min_nodes || config.max_nodes != other.max_nodes)
            words = config.min_nodes == config.max_nodes
                        ? fmt::format(" --nnodes={}", config.max_nodes)
                        : fmt::format(" --nnodes={}:{}", config.min_nodes, config.max_nodes);
        if (config.restarts.max_restarts != other.restarts.max_restarts)
            words += fmt::format(" --max-restarts={}", config.restarts.max_restarts);
        return words;
    };
    const std::string theirs = differences(*join.told, job_);
    if (theirs.empty()) return;
    send(node.connection,
         Tell{stamp(), fmt::format("this node was told{}, but{} on {}, which hosts the meeting, counts", theirs,
                                   differences(job_, *join.told), options_.host)});
}

/// After a cut both sides state again what holds.
void Coordinator::resume(Time now, ConnectionId connection, Node& node, const Join& join) {
    if (const ConnectionId earlier = roster_.attach(now, node, connection)) actions_.emplace_back(Close{earlier});
    last_message_ = now;
    welcome(connection, join);
    resync(node, join.stamp.round);
    if (phase_ == Phase::gathering) try_start(now);
}

void Coordinator::resync(const Node& node, std::int32_t known_round) {
    if (phase_ == Phase::over) return send(node.connection, End{stamp(), *verdict_});
    if (node.state != MemberState::running) return;
    if (phase_ == Phase::running && known_round < round_) send(node.connection, node.assigned);
    if (phase_ == Phase::stopping) send(node.connection, StopRound{stamp(), restart_reason_, stopped_for_});
}

void Coordinator::admit(Time now, ConnectionId connection, const Join& join) {
    Node& node = roster_.add(now, connection, join);
    had_members_ = true;
    last_message_ = now;
    highest_round_ = std::max(highest_round_, join.latest_round);
    std::erase(lost_hosts_, join.record.host);
    returning_.erase(join.record.host);
    if (phase_ == Phase::adopting && join.job && !options_.snapshot) learn(*join.job);
    welcome(connection, join);
    report_differences(node, join);
    if (const Time until = cooldowns_.admitted_from(join.record.host); until > now && phase_ != Phase::over) {
        cooling_[join.record.id] = until;
        send(connection, Tell{stamp(), fmt::format("{} was lost {} times within ten minutes: admitted in {:.0f} s",
                                                   join.record.host, cooldowns_.losses(join.record.host),
                                                   std::chrono::duration<double>(until - now).count())});
    }
    switch (phase_) {
        case Phase::adopting: return adopt(now, node, join);
        case Phase::gathering: return try_start(now);
        case Phase::running: return note_newcomer(now, node);
        case Phase::stopping: return awaits_members() ? adopt(now, node, join) : void();
        case Phase::over: return resync(node, round_);
        case Phase::deposed: return;
    }
}

void Coordinator::on_member(Time now, ConnectionId connection, Node& node, const Message& message) {
    const auto fits = [&](const Stamp& sent) {
        if (sent.epoch != options_.epoch || sent.incarnation != node.incarnation) return false;
        node.last_heard = last_message_ = now;
        return true;
    };
    if (const auto* beat = std::get_if<Beat>(&message)) {
        if (fits(beat->stamp)) send(connection, Beat{stamp(), beat->number});
    } else if (const auto* report = std::get_if<Report>(&message)) {
        if (fits(report->stamp) && report->stamp.round == round_) on_report(now, node, *report);
    } else if (const auto* leave = std::get_if<Leave>(&message)) {
        if (fits(leave->stamp)) on_leave(now, node, *leave);
    } else if (const auto* gone = std::get_if<Gone>(&message)) {
        evict(now, node, gone->returns);
    } else if (!std::holds_alternative<Join>(message)) {
        actions_.emplace_back(Close{connection});  // no member sends this
    }
}

/// A cut, whatever the other side's kernel sent: a proxy between may have been restarted. The lease decides, or a Gone.
void Coordinator::closed(Time now, ConnectionId connection, bool by_its_end) {
    if (!may_act(now)) return;
    Node* node = roster_.node_of(connection);
    if (!node) return roster_.drop(connection);
    if (phase_ == Phase::over && by_its_end)
        roster_.remove(now, *node);  // it has received the verdict; if not, it joins again
    else
        roster_.detach(*node);
}

/// The node's incarnation is over, and none of its workers lives any more.
void Coordinator::evict(Time now, Node& lost, bool returns) {
    if (lost.connection) actions_.emplace_back(Close{lost.connection});
    cooling_.erase(lost.record.id);
    const Node node = roster_.remove(now, lost);
    if (phase_ == Phase::over) return;
    if (phase_ == Phase::gathering || node.survivor) lost_hosts_.push_back(node.record.host);  // else a spare
    if (returns) returning_[node.record.host] = now + std::max(job_.node_timeout, Milliseconds(10'000));
    const bool served_store = node.state == MemberState::done && node.last_rank == 0;
    const bool was_needed =
        node.state == MemberState::running || (served_store && roster_.count(MemberState::running) > 0);
    if (was_needed && !node.leaving) cooldowns_.lost(now, node.record.host);
    if (phase_ == Phase::gathering) {
        end_if_hopeless(now);
        return phase_ == Phase::gathering ? try_start(now) : void();
    }
    if (!was_needed) return;
    end_if_hopeless(now);
    const bool is_first = blame_.lost_host().empty();
    blame_.lost(node.last_heard, node.record.host);
    if (is_first && phase_ == Phase::stopping) record();
    if (phase_ == Phase::adopting)
        review(now);
    else if (phase_ == Phase::running && node.leaving)
        review(now);  // it was on its way out
    else if (phase_ == Phase::running)
        stop_round(now, fmt::format("{} was lost", node.record.host),
                   {node.assigned.first_rank, node.assigned.local_world_size});
    else if (phase_ == Phase::stopping && round_has_stopped())
        judge(now);
}

/// The node leaves with a verdict of its own; the job goes on.
void Coordinator::release(Time now, Node& node) {
    send(node.connection, End{stamp(), {node.leaving->status, node.leaving->reason, {}}});
    cooling_.erase(node.record.id);
    const ConnectionId connection = node.connection;
    roster_.remove(now, node);
    if (connection) roster_.greet(connection);  // it is closed by the node, which has nothing more to send
}

void Coordinator::evict_silent(Time now) {
    next_look_ = now + job_.node_timeout / 20;
    std::vector<std::string> silent;
    for (const Node* node : roster_.silent(now, silence_limit())) silent.push_back(node->record.id);
    for (const std::string& id : silent)
        if (Node* node = roster_.find(id)) evict(now, *node);
}

// --- time -----------------------------------------------------------------------------------------------------------

void Coordinator::tick(Time now) {
    if (!may_act(now)) return;
    if (phase_ == Phase::over) return tick_over(now);
    if (lease_until_ != kNever && had_members_ && now - last_message_ >= job_.node_timeout) {
        record();
        return depose("no member reaches it");  // members may reach another coordinator
    }
    if (now >= next_look_) evict_silent(now);
    if (std::erase_if(returning_, [now](const auto& host) { return now >= host.second; }) > 0) end_if_hopeless(now);
    warm_up(now);
    if (now >= adopt_until_) on_adoption_timeout(now);
    if (phase_ == Phase::running && now >= newcomers_until_) take_newcomers_in(now);
    if (phase_ == Phase::gathering) tick_gathering(now);
}

Time Coordinator::deadline() const {
    if (phase_ == Phase::deposed) return kNever;
    if (phase_ == Phase::over) return lingered_ ? lease_until_ : std::min(next_look_, lease_until_);
    Time due = std::min(next_look_, lease_until_);
    due = std::min(due, adopt_until_);
    if (phase_ == Phase::running) due = std::min(due, newcomers_until_);
    if (phase_ == Phase::gathering) {
        due = std::min({due, gather_until_, next_progress_});
        if (last_call_until_ > now_) due = std::min(due, last_call_until_);  // else a node that is cut off is awaited
        if (earliest_start() > now_) due = std::min(due, earliest_start());
        if (await_until_ > now_) due = std::min(due, await_until_);
    }
    return due;
}

}  // namespace dlaunch::rendezvous
