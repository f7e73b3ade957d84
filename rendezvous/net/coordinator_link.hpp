#pragma once
/// A member's connection to its coordinator: over TCP (link.hpp), or in memory where one process holds both
/// (coordinate/memory_link.hpp).

#include <functional>
#include <vector>

#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/rounds/member.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class CoordinatorLink {
public:
    /// Callbacks may call connect(), disconnect() and send(). A link in memory calls back from inside those calls, too.
    struct Observer {
        std::function<void()> connected;
        std::function<void(const ConnectFailure&)> failed;
        std::function<void(const Message&)> received;
        std::function<void(bool by_fin)> closed;
    };

    CoordinatorLink() = default;
    CoordinatorLink(const CoordinatorLink&) = delete;
    CoordinatorLink& operator=(const CoordinatorLink&) = delete;
    virtual ~CoordinatorLink() = default;

    /// Dials. Resets an open connection first, without a call of the observer.
    virtual void connect() = 0;
    /// Drops the connection. Later connects dial these endpoints.
    virtual void retarget(const std::vector<ResolvedEndpoint>& places) = 0;
    /// Where else a coordinator may serve later: dialed in turn after the address of the present connection.
    virtual void set_standbys(const std::vector<ResolvedEndpoint>& standbys) = 0;
    /// The address that was dialed last.
    [[nodiscard]] virtual ResolvedEndpoint place() const = 0;
    /// Closes the connection with FIN, without a call of the observer.
    virtual void disconnect() = 0;
    virtual void send(const Message& message) = 0;
    /// The connection's descriptor; -1: not connected, or in memory.
    [[nodiscard]] virtual int socket() const = 0;
};

}  // namespace dlaunch::rendezvous
