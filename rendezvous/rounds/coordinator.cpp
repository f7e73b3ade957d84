#include "rendezvous/rounds/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::rendezvous {

namespace {

constexpr const char* kAnotherJob = "; another job needs another port, and an --rdzv-id";

}  // namespace

Coordinator::Coordinator(Options options, Time now)
    : options_(std::move(options)),
      restarts_(options_.restarts),
      now_(now),
      next_look_(now + options_.node_timeout / 20) {
    if (options_.epoch == 1) {
        gather(now);
    } else {
        phase_ = Phase::adopting;
        adopt_until_ = now + options_.node_timeout;  // whoever has not come by then has fenced itself
    }
}

std::vector<Coordinator::Action> Coordinator::take_actions() { return std::exchange(actions_, {}); }

void Coordinator::send(ConnectionId connection, Message message) {
    if (connection) actions_.emplace_back(Send{{connection}, std::move(message)});
}

void Coordinator::broadcast(const Message& message) {
    Send send{{}, message};
    for (const auto& [id, node] : nodes_)
        if (node.connection) send.to.push_back(node.connection);
    if (!send.to.empty()) actions_.emplace_back(std::move(send));
}

/// A coordinator that was frozen has heard nobody, and is to blame itself: its own gap is nobody's silence.
void Coordinator::pass_time(Time now) {
    const auto gap = now - now_;
    now_ = now;
    if (gap < options_.node_timeout / 4) return;
    for (auto& [id, node] : nodes_) node.last_heard += gap;
    caused_at_ += gap;
    adopt_until_ = adopt_until_ == kNever ? kNever : adopt_until_ + gap;
}

void Coordinator::received(Time now, ConnectionId connection, const Message& message) {
    pass_time(now);
    Peer& peer = peers_[connection];
    if (const auto* hello = std::get_if<Hello>(&message)) {
        peer.greeted = true;
        return on_hello(connection, *hello);
    }
    if (!peer.greeted) {
        actions_.emplace_back(Close{connection});
        return;
    }
    if (const auto* join = std::get_if<Join>(&message)) {
        if (peer.node.empty()) on_join(now, connection, *join);
        return;
    }
    if (const auto* beat = std::get_if<Beat>(&message); beat && peer.node.empty())
        return send(connection, Beat{stamp(), beat->number});  // somebody asks whether we are here
    auto node = nodes_.find(peer.node);
    if (node == nodes_.end() || node->second.connection != connection) return;  // it has been told to go
    on_member(now, connection, node->second, message);
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
}

void Coordinator::refuse(ConnectionId connection, bool come_anew, int status, std::string reason) {
    send(connection, Refused{come_anew, status, std::move(reason)});
    actions_.emplace_back(Close{connection});
    peers_.erase(connection);
}

void Coordinator::on_join(Time now, ConnectionId connection, const Join& join) {
    const std::string& id = join.record.id;
    auto known = nodes_.find(id);
    if (known != nodes_.end() && known->second.incarnation == join.stamp.incarnation)
        return resume(now, connection, known->second, join);
    if (known != nodes_.end()) {
        if (known->second.incarnation > join.stamp.incarnation)
            return refuse(connection, true, 0, "a later incarnation of this node has joined");
        lose(now, known, false);  // it comes anew only when nothing of it runs any more
    }
    const auto lost = lost_.find(id);
    if (lost != lost_.end() && lost->second >= join.stamp.incarnation)
        return refuse(connection, true, 0, "this node was silent for too long");
    if (phase_ == Phase::over && lost == lost_.end())  // who comes late to an end in failure has the same end
        return refuse(connection, false, verdict_->status ? verdict_->status : exit_status::kRefused,
                      verdict_->reason.empty() ? "the job has ended" : "the job has ended: " + verdict_->reason);
    if (is_other_job(join.record))
        return refuse(connection, false, exit_status::kRefused,
                      fmt::format("this is job \"{0}\" of {1}, the coordinator serves job \"{0}\" of {2}, expected "
                                  "another port for another job, and an --rdzv-id for each",
                                  options_.job_id, join.record.program, options_.program));
    if (const Node* holder = holder_of(now, join.record))
        return refuse(connection, false, exit_status::kRefused,
                      fmt::format("node rank {} is {}'s, expected another --node-rank, or another port for another job",
                                  *join.record.node_rank, holder->record.host));
    if (join.standing && phase_ != Phase::adopting)
        return refuse(connection, true, 0, "this coordinator does not know the round that runs here");
    admit(now, connection, join);
}

/// A program that nobody brought before the job began, in the same role, where nobody has named the job: hardly a part
/// of this one.
bool Coordinator::is_other_job(const NodeRecord& newcomer) const {
    const bool has_begun = round_ >= 0 && phase_ != Phase::adopting;
    return has_begun && options_.job_id == kUnnamedJob && newcomer.role == options_.role &&
           newcomer.program != options_.program && !programs_.contains(newcomer.program);
}

/// Whoever runs as the rank that a newcomer claims, where ranks are fixed; null where nobody does or it was silent
/// for so long that the newcomer may be its successor.
const Coordinator::Node* Coordinator::holder_of(Time now, const NodeRecord& newcomer) const {
    if (!options_.fixed_ranks || !newcomer.node_rank || phase_ != Phase::running) return nullptr;
    for (const auto& [id, node] : nodes_) {
        const bool is_heard = node.connection && now - node.last_heard < options_.node_timeout / 2;
        if (node.part == Part::running && node.record.node_rank == newcomer.node_rank && is_heard) return &node;
    }
    return nullptr;
}

void Coordinator::welcome(ConnectionId connection, const Join& join) {
    send(connection,
         Welcome{stamp(), join.beat, static_cast<std::uint32_t>(options_.node_timeout.count()), options_.host});
}

void Coordinator::tell_other_terms(ConnectionId connection, const Join& join) {
    const Terms ours{options_.min_nodes, options_.max_nodes, options_.restarts.max_restarts};
    if (!join.terms || join.terms == ours || join.stamp.incarnation > 1) return;  // said before
    const auto differences = [&](const Terms& terms, const Terms& others) {
        std::string words;
        if (terms.min_nodes != others.min_nodes || terms.max_nodes != others.max_nodes)
            words = terms.min_nodes == terms.max_nodes
                        ? fmt::format(" --nnodes={}", terms.max_nodes)
                        : fmt::format(" --nnodes={}:{}", terms.min_nodes, terms.max_nodes);
        if (terms.max_restarts != others.max_restarts) words += fmt::format(" --max-restarts={}", terms.max_restarts);
        return words;
    };
    send(connection,
         Tell{stamp(), fmt::format("this node was told{}, but{} on {}, which hosts the meeting, counts",
                                   differences(*join.terms, ours), differences(ours, *join.terms), options_.host)});
}

/// After a cut: both say again what holds.
void Coordinator::resume(Time now, ConnectionId connection, Node& node, const Join& join) {
    if (node.connection && node.connection != connection) {
        actions_.emplace_back(Close{node.connection});
        peers_.erase(node.connection);
    }
    if (!node.connection) ++connected_;
    node.connection = connection;
    node.last_heard = now;
    peers_[connection].node = node.record.id;
    welcome(connection, join);
    tell_what_holds(node, join.stamp.round);
    if (phase_ == Phase::gathering) try_start(now);
}

void Coordinator::tell_what_holds(const Node& node, std::int32_t known_round) {
    if (phase_ == Phase::over && verdict_) return send(node.connection, *verdict_);
    if (node.part != Part::running) return;
    if (phase_ == Phase::running && known_round < round_) send(node.connection, node.assigned);
    if (phase_ == Phase::stopping) send(node.connection, StopRound{stamp(), restart_reason_, stopped_for_});
}

void Coordinator::admit(Time now, ConnectionId connection, const Join& join) {
    Node& node = nodes_[join.record.id];
    ++connected_;
    node.record = join.record;
    programs_.insert(join.record.program);
    node.incarnation = join.stamp.incarnation;
    node.arrival = ++arrivals_;
    node.connection = connection;
    node.last_heard = now;
    node.last_rank = join.last_group_rank;
    peers_[connection].node = join.record.id;
    std::erase(lost_hosts_, join.record.host);
    welcome(connection, join);
    tell_other_terms(connection, join);
    switch (phase_) {
        case Phase::adopting: return adopt(now, node, join);
        case Phase::gathering: return try_start(now);
        case Phase::running:
            // Nobody is disturbed where the job is about to end well.
            if (options_.scale_up == ScaleUp::immediate && group_size_ < limit() && unfinished_ == group_size_)
                return stop_round(now, fmt::format("{} joined", node.record.host));
            return send(connection,
                        Tell{stamp(), fmt::format("a spare of job \"{}\", which runs on {} node{}: waiting{}",
                                                  options_.job_id, group_size_, group_size_ == 1 ? "" : "s",
                                                  options_.job_id == kUnnamedJob ? kAnotherJob : "")});
        case Phase::stopping: return;
        case Phase::over: return tell_what_holds(node, round_);
    }
}

void Coordinator::on_member(Time now, ConnectionId connection, Node& node, const Message& message) {
    const auto fits = [&](const Stamp& said) {
        return said.epoch == options_.epoch && said.incarnation == node.incarnation;
    };
    if (const auto* beat = std::get_if<Beat>(&message)) {
        if (!fits(beat->stamp)) return;
        node.last_heard = now;
        send(connection, Beat{stamp(), beat->number});
    } else if (const auto* report = std::get_if<Report>(&message)) {
        if (!fits(report->stamp)) return;
        node.last_heard = now;
        if (report->stamp.round == round_) on_report(now, node, *report);
    } else if (const auto* leave = std::get_if<Leave>(&message)) {
        if (!fits(leave->stamp)) return;
        node.last_heard = now;
        on_leave(now, node, *leave);
    } else if (std::holds_alternative<Gone>(message)) {
        if (phase_ != Phase::over) lose(now, nodes_.find(node.record.id), false);
    } else {
        actions_.emplace_back(Close{connection});  // no member says this
    }
}

void Coordinator::closed(Time now, ConnectionId connection, bool by_its_end) {
    pass_time(now);
    auto peer = peers_.find(connection);
    if (peer == peers_.end()) return;
    auto node = nodes_.find(peer->second.node);
    peers_.erase(peer);
    if (node == nodes_.end() || node->second.connection != connection) return;
    node->second.connection = 0;
    --connected_;
    if (phase_ == Phase::over) {
        if (by_its_end) nodes_.erase(node);  // it has heard the verdict
        return;
    }
    if (by_its_end) lose(now, node, true);
}

/// The node's incarnation is over. By its end: its process is dead, and its guard ends the workers within guard_time.
void Coordinator::lose(Time now, Nodes::iterator at, bool by_its_end) {
    Node node = std::move(at->second);
    nodes_.erase(at);
    lost_[node.record.id] = node.incarnation;
    if (node.connection) {
        --connected_;
        actions_.emplace_back(Close{node.connection});
        peers_.erase(node.connection);
    }
    if (phase_ == Phase::over) return;
    if (phase_ == Phase::gathering || node.survivor) lost_hosts_.push_back(node.record.host);  // else a spare
    if (phase_ == Phase::gathering) return try_start(now);
    if (node.part != Part::running) return;
    if (by_its_end) not_before_ = std::max(not_before_, now + options_.guard_time);
    if (causes_.empty() || node.last_heard <= caused_at_) blameless_ = true;  // it lived on after what failed elsewhere
    take_part_away(node, Part::stopped);
    if (phase_ == Phase::running && node.leaving)
        review(now);  // it was on its way out
    else if (phase_ == Phase::running)
        stop_round(now, fmt::format("{} was lost", node.record.host),
                   {node.assigned.first_rank, node.assigned.local_world_size});
    else if (phase_ == Phase::stopping && unfinished_ == 0)
        judge(now);
}

/// It leaves in peace: it has been told its own end.
void Coordinator::dismiss(Nodes::iterator node) {
    send(node->second.connection, End{stamp(), node->second.leaving->status, node->second.leaving->reason, {}});
    lost_[node->first] = node->second.incarnation;
    if (node->second.connection) --connected_;
    nodes_.erase(node);
}

void Coordinator::look_for_silent(Time now) {
    next_look_ = now + options_.node_timeout / 20;
    std::vector<std::string> silent;
    for (const auto& [id, node] : nodes_)
        if (now - node.last_heard >= options_.node_timeout) silent.push_back(id);
    for (const std::string& id : silent) {
        auto node = nodes_.find(id);
        if (node != nodes_.end()) lose(now, node, false);
    }
}

void Coordinator::tick(Time now) {
    pass_time(now);
    if (phase_ == Phase::over) {
        lingered_ = lingered_ || now >= linger_until_;
        return;
    }
    if (now >= next_look_) look_for_silent(now);
    if (phase_ == Phase::adopting && now >= adopt_until_) {
        blameless_ = true;  // what failed meanwhile may have followed from the loss of who has not come
        if (unfinished_ > 0 || group_size_ > 0)
            stop_round(now, "not every node of the running round came to the new coordinator");
        else
            gather(now);
    }
    if (phase_ != Phase::gathering) return;
    try_start(now);
    if (phase_ != Phase::gathering) return;
    if (now >= gather_until_) return on_join_timeout(now);
    if (now >= next_progress_) {
        next_progress_ = now + options_.progress;
        const bool for_nodes = connected_ < static_cast<std::size_t>(options_.min_nodes);  // else for a pause to end
        if (for_nodes || now >= not_before_) broadcast(Tell{stamp(), waiting()});
    }
}

Time Coordinator::deadline() const {
    if (phase_ == Phase::over) return linger_until_;
    Time due = next_look_;
    if (phase_ == Phase::adopting) due = std::min(due, adopt_until_);
    if (phase_ == Phase::gathering) {
        due = std::min({due, gather_until_, next_progress_, last_call_until_});
        if (not_before_ > now_) due = std::min(due, not_before_);
    }
    return due;
}

}  // namespace dlaunch::rendezvous
