#pragma once
/// A member's way to its coordinator: over TCP (link.hpp), or in memory where one process holds both
/// (coordinate/memory_link.hpp).

#include <functional>
#include <vector>

#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/rounds/member.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class CoordinatorLink {
public:
    /// May call connect(), disconnect() and send(). A link in memory calls from inside of those, too.
    struct Observer {
        std::function<void()> connected;
        std::function<void(const ConnectFailure&)> failed;
        std::function<void(const Message&)> received;
        std::function<void(bool by_its_end)> closed;
    };

    CoordinatorLink() = default;
    CoordinatorLink(const CoordinatorLink&) = delete;
    CoordinatorLink& operator=(const CoordinatorLink&) = delete;
    virtual ~CoordinatorLink() = default;

    /// Dials. Resets an open connection first, of which the observer receives nothing more.
    virtual void connect() = 0;
    /// The coordinator is at these places from now on; drops the connection.
    virtual void retarget(const std::vector<Place>& places) = 0;
    /// Closes in order, without a call of the observer.
    virtual void disconnect() = 0;
    virtual void send(const Message& message) = 0;
    /// The connection's descriptor; -1: there is none.
    [[nodiscard]] virtual int socket() const = 0;
};

}  // namespace dlaunch::rendezvous
