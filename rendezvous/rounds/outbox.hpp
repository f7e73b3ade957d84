#pragma once
/// Actions that a coordinator has decided on, to be carried out in order. No I/O.

#include <utility>
#include <variant>
#include <vector>

#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Outbox {
public:
    struct Send {
        std::vector<ConnectionId> to;
        Message message;
    };
    struct Close {
        ConnectionId connection;
    };
    /// To be stored for a successor before the actions after it are carried out.
    struct Record {
        Snapshot snapshot;
    };
    using Action = std::variant<Send, Close, Record>;

    /// Does nothing for a disconnected node, which receives the current state when it reconnects.
    void send(ConnectionId to, Message message) {
        if (to) actions_.emplace_back(Send{{to}, std::move(message)});
    }
    /// To each node for which `is_meant` holds.
    template <class IsMeant>
    void send(const Roster& roster, Message message, IsMeant is_meant) {
        Send send{{}, std::move(message)};
        for (const auto& [id, node] : roster.all())
            if (node.connection && is_meant(node)) send.to.push_back(node.connection);
        if (!send.to.empty()) actions_.emplace_back(std::move(send));
    }
    void broadcast(const Roster& roster, Message message) {
        send(roster, std::move(message), [](const Node&) { return true; });
    }
    void close(ConnectionId connection) { actions_.emplace_back(Close{connection}); }
    /// Any number of calls adds one Record, before all other actions: a snapshot holds the losses of every host, and
    /// thousands of nodes may be lost at once.
    void record() { must_record_ = true; }
    /// `latest`: makes the snapshot, if one is to be recorded.
    template <class Latest>
    [[nodiscard]] std::vector<Action> take(Latest latest) {
        std::vector<Action> actions = std::exchange(actions_, {});
        if (std::exchange(must_record_, false)) actions.emplace(actions.begin(), Record{latest()});
        return actions;
    }

private:
    std::vector<Action> actions_;
    bool must_record_ = false;
};

}  // namespace dlaunch::rendezvous
