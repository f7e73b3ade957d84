#pragma once
/// This node's relay to the round's store (store/relay/relay.hpp), at a port of its own on loopback in each round. It
/// runs in a thread, so that the node's loop does not delay it.

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/relay/relay.hpp"

namespace dlaunch::agent {

/// Whether the process at the other end of an accepted connection is of this user.
[[nodiscard]] bool is_of_own_user(int socket);

class StoreRelay {
public:
    /// Prints a line for the user; called from any thread.
    using Warn = std::function<void(const std::string&)>;

    /// `loop` serves where no thread can be started.
    explicit StoreRelay(base::Loop& loop) : loop_(loop) {}

    /// Chooses the next round's port. Connections wait from now on.
    [[nodiscard]] base::Result<int> listen();
    /// Serves at the port of listen(), for processes of this user only.
    [[nodiscard]] base::Result<void> start(const store::TrunkTarget& target, Warn warn);
    /// Closes the port and all connections, after a moment for the last requests of services of this node, which
    /// publish why they ended. The next start() or the end of this object cuts it short.
    void stop();

private:
    class Serving;

    base::Loop& loop_;
    store::Listener listener_;
    std::shared_ptr<Serving> serving_, former_;
    base::Timer former_ends_;
};

}  // namespace dlaunch::agent
