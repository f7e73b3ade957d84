#include "rendezvous/rounds/roster.hpp"

#include <utility>

namespace dlaunch::rendezvous {

bool Roster::greeted(ConnectionId connection) const {
    const auto peer = peers_.find(connection);
    return peer != peers_.end() && peer->second.greeted;
}

Node* Roster::node_of(ConnectionId connection) const {
    const auto peer = peers_.find(connection);
    return peer == peers_.end() ? nullptr : peer->second.node;
}

std::vector<ConnectionId> Roster::connections() const {
    std::vector<ConnectionId> all;
    all.reserve(peers_.size());
    for (const auto& [connection, peer] : peers_) all.push_back(connection);
    return all;
}

Node& Roster::add(Time now, ConnectionId connection, const Join& join) {
    Node& node = nodes_[join.record.id];
    node.record = join.record;
    node.incarnation = join.stamp.incarnation;
    node.arrival = ++arrivals_;
    ++revision_;
    node.last_rank = join.last_group_rank;
    ++states_[static_cast<std::size_t>(MemberState::none)];
    workers_ += node.record.workers();
    if (node.record.node_rank) claims_[{*node.record.node_rank, join.record.id}] = &node;
    attach(now, node, connection);
    return node;
}

Node* Roster::find(const std::string& id) {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : &found->second;
}

ConnectionId Roster::attach(Time now, Node& node, ConnectionId connection) {
    const ConnectionId earlier = node.connection == connection ? 0 : node.connection;
    if (earlier) peers_.erase(earlier);
    if (!node.connection) ++connected_;
    node.connection = connection;
    node.last_received = now;
    peers_[connection].node = &node;
    return earlier;
}

void Roster::detach(Node& node) {
    if (!node.connection) return;
    peers_.erase(node.connection);
    node.connection = 0;
    --connected_;
}

Node Roster::remove(Time now, Node& gone) {
    ++revision_;
    const auto at = nodes_.find(gone.record.id);
    --states_[static_cast<std::size_t>(gone.state)];
    if (gone.leaving) --leaving_;
    workers_ -= gone.record.workers();
    if (gone.connection) {
        --connected_;
        peers_.erase(gone.connection);
    }
    if (gone.record.node_rank) claims_.erase({*gone.record.node_rank, gone.record.id});
    Node node = std::move(at->second);
    nodes_.erase(at);
    removed_.add(now, node.record.id, node.incarnation);
    return node;
}

void Roster::set_state(Node& node, MemberState state) {
    --states_[static_cast<std::size_t>(node.state)];
    node.state = state;
    ++states_[static_cast<std::size_t>(state)];
}

void Roster::set_leaving(Node& node, const Leave& leave) {
    if (!node.leaving) ++leaving_;
    ++revision_;
    node.leaving = leave;
}

void Roster::clear_states() {
    ++revision_;
    for (auto& [id, node] : nodes_) set_state(node, MemberState::none);
}

std::vector<const Node*> Roster::claimants(std::int32_t node_rank) const {
    std::vector<const Node*> found;
    for (auto at = claims_.lower_bound({node_rank, {}}); at != claims_.end() && at->first.first == node_rank; ++at)
        found.push_back(at->second);
    return found;
}

std::vector<Node*> Roster::silent(Time now, Milliseconds limit) {
    std::vector<Node*> found;
    for (auto& [id, node] : nodes_)
        if (now - node.last_received >= limit) found.push_back(&node);
    return found;
}

void Roster::excuse(Time::duration gap) {
    for (auto& [id, node] : nodes_) node.last_received += gap;
}

bool Roster::is_consistent() const {
    std::array<std::size_t, 4> states{};
    std::size_t connected = 0, leaving = 0, claims = 0;
    std::int64_t workers = 0;
    for (const auto& [id, node] : nodes_) {
        ++states[static_cast<std::size_t>(node.state)];
        if (node.connection) ++connected;
        if (node.leaving) ++leaving;
        workers += node.record.workers();
        if (node.record.node_rank) ++claims;
        if (node.record.node_rank && !claims_.contains({*node.record.node_rank, id})) return false;
        if (node.connection && node_of(node.connection) != &node) return false;
    }
    return states == states_ && connected == connected_ && leaving == leaving_ && workers == workers_ &&
           claims == claims_.size();
}

}  // namespace dlaunch::rendezvous
