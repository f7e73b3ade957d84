#pragma once
/// The nodes of a job as its coordinator knows them: connections, incarnations, when each last sent something, and how
/// many are in which state of the current round. Counters are kept, never recounted: ten thousand nodes may join in a
/// second.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/base/connection_id.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

using base::ConnectionId;

/// Of a node in the current round. none: a spare or a newcomer; running: a worker may live; done: all succeeded.
enum class MemberState : unsigned char { none, running, done, stopped };

struct Node {
    NodeRecord record;
    std::uint64_t incarnation = 0, arrival = 0;
    ConnectionId connection = 0;  ///< 0: cut off, may come back
    Time last_received;
    MemberState state = MemberState::none;  ///< changed by Roster::set_state() only
    std::optional<std::int32_t> last_rank;
    bool survivor = false;         ///< was in the latest round
    std::optional<Leave> leaving;  ///< changed by Roster::set_leaving() only
    Assigned assigned;             ///< sent again after a cut
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
    /// This is the node's connection from now on. The earlier one, if there is one, is dropped and returned.
    ConnectionId attach(Time now, Node& node, ConnectionId connection);
    /// The connection is gone; the node may come back.
    void detach(Node& node);
    /// The node's incarnation is over, and joins with it are refused.
    Node remove(Time now, Node& node);
    void set_state(Node& node, MemberState state);
    void set_leaving(Node& node, const Leave& leave);
    /// A new round: no node is in it yet.
    void clear_states();
    /// The latest incarnation of a node that was removed.
    [[nodiscard]] std::optional<std::uint64_t> removed_incarnation(const std::string& id) const;
    /// Nodes of which nothing was received for `limit`.
    [[nodiscard]] std::vector<Node*> silent(Time now, Milliseconds limit);
    /// The coordinator stood still for `gap` and could not receive anything.
    void excuse(Time::duration gap);

    [[nodiscard]] Nodes& all() { return nodes_; }
    [[nodiscard]] const Nodes& all() const { return nodes_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] std::size_t connected() const { return connected_; }
    [[nodiscard]] std::size_t leaving() const { return leaving_; }
    [[nodiscard]] std::size_t count(MemberState state) const { return states_[static_cast<std::size_t>(state)]; }
    /// Nodes of the current round that are still here.
    [[nodiscard]] std::size_t members() const { return nodes_.size() - count(MemberState::none); }
    [[nodiscard]] std::int64_t slots() const { return slots_; }

    /// Counters against the nodes; for tests.
    [[nodiscard]] bool is_consistent() const;

private:
    struct Peer {
        bool greeted = false;
        Node* node = nullptr;
    };
    struct Removed {
        std::uint64_t incarnation = 0;
        Time at;
    };
    void prune_removed(Time now);

    std::unordered_map<ConnectionId, Peer> peers_;
    Nodes nodes_;
    std::map<std::string, Removed> removed_;
    std::array<std::size_t, 4> states_{};
    std::size_t connected_ = 0, leaving_ = 0;
    std::int64_t slots_ = 0;
    std::uint64_t arrivals_ = 0;
};

}  // namespace dlaunch::rendezvous
