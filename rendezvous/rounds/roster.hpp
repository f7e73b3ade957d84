#pragma once
/// The nodes of a job as its coordinator knows them: connections, incarnations, times of the latest messages, and the
/// number of nodes in each state of the current round. Counters are kept, never recounted: ten thousand nodes may join
/// in a second.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rendezvous/base/connection_id.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/removed_nodes.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

using base::ConnectionId;

/// State of a node in the current round. none: a spare or a newcomer; running: a worker may live; done: all succeeded.
enum class MemberState : unsigned char { none, running, done, stopped };

struct Node {
    NodeRecord record;
    std::uint64_t incarnation = 0, arrival = 0;
    ConnectionId connection = 0;  ///< 0: disconnected, may reconnect
    Time last_received;
    MemberState state = MemberState::none;  ///< changed by Roster::set_state() only
    std::optional<std::int32_t> last_rank;
    bool survivor = false;         ///< was in the latest round
    std::optional<Leave> leaving;  ///< changed by Roster::set_leaving() only
    Assigned assigned;             ///< sent again after a reconnect
};

class Roster {
public:
    using Nodes = std::map<std::string, Node>;

    // --- connections ---
    void greet(ConnectionId connection) { peers_[connection].greeted = true; }
    [[nodiscard]] bool greeted(ConnectionId connection) const;
    /// The node of the connection; null before it joined and after it was evicted.
    [[nodiscard]] Node* node_of(ConnectionId connection) const;
    void drop(ConnectionId connection) { peers_.erase(connection); }
    [[nodiscard]] std::vector<ConnectionId> connections() const;

    // --- nodes ---
    Node& add(Time now, ConnectionId connection, const Join& join);
    [[nodiscard]] Node* find(const std::string& id);
    /// Replaces the node's connection. Returns the earlier one, which is dropped; 0: there was none.
    ConnectionId attach(Time now, Node& node, ConnectionId connection);
    /// The connection is closed; the node may reconnect.
    void detach(Node& node);
    /// Ends the node's incarnation: joins with it are refused from now on.
    Node remove(Time now, Node& node);
    void set_state(Node& node, MemberState state);
    void set_leaving(Node& node, const Leave& leave);
    /// Before a new round: no node is a member yet.
    void clear_states();
    /// The latest incarnation of a node that was removed.
    [[nodiscard]] std::optional<std::uint64_t> removed_incarnation(const std::string& id) const {
        return removed_.incarnation(id);
    }
    /// Nodes with this --node-rank, in the order of their ids.
    [[nodiscard]] std::vector<const Node*> claimants(std::int32_t node_rank) const;
    /// Nodes without a message for `limit`.
    [[nodiscard]] std::vector<Node*> silent(Time now, Milliseconds limit);
    /// The coordinator was stalled for `gap` and received nothing.
    void excuse(Time::duration gap);

    [[nodiscard]] Nodes& all() { return nodes_; }
    [[nodiscard]] const Nodes& all() const { return nodes_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] std::size_t connected() const { return connected_; }
    [[nodiscard]] std::size_t leaving() const { return leaving_; }
    [[nodiscard]] std::size_t count(MemberState state) const { return states_[static_cast<std::size_t>(state)]; }
    /// Nodes of the current round that have not been removed.
    [[nodiscard]] std::size_t members() const { return nodes_.size() - count(MemberState::none); }
    [[nodiscard]] std::int64_t workers() const { return workers_; }
    /// Changes when a node joins, leaves or is removed, and when a round starts.
    [[nodiscard]] std::uint64_t revision() const { return revision_; }

    /// Compares counters with the nodes; for tests.
    [[nodiscard]] bool is_consistent() const;

private:
    struct Peer {
        bool greeted = false;
        Node* node = nullptr;
    };

    std::unordered_map<ConnectionId, Peer> peers_;
    Nodes nodes_;
    std::map<std::pair<std::int32_t, std::string>, const Node*> claims_;  ///< by node rank and id
    RemovedNodes removed_;
    std::array<std::size_t, 4> states_{};
    std::size_t connected_ = 0, leaving_ = 0;
    std::int64_t workers_ = 0;
    std::uint64_t arrivals_ = 0, revision_ = 0;
};

}  // namespace dlaunch::rendezvous
