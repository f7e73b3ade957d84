#pragma once
/// What a coordinator has decided to do, to be carried out in this order. No I/O.

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
    /// To be kept for a successor before the actions behind it are carried out.
    struct Record {
        Snapshot snapshot;
    };
    using Action = std::variant<Send, Close, Record>;

    /// Nothing is sent to a node that is cut off; it is synchronized when it comes back.
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
    void record(Snapshot snapshot) { actions_.emplace_back(Record{std::move(snapshot)}); }
    [[nodiscard]] std::vector<Action> take() { return std::exchange(actions_, {}); }

private:
    std::vector<Action> actions_;
};

}  // namespace dlaunch::rendezvous
