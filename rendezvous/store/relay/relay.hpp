#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/relay/trunk_link.hpp"

namespace dlaunch::store {

/// Serves a node's workers with the round's store, which is on some node, over one connection (proxy.hpp decides how).
/// The first request opens it. If it ends, or cannot be opened, the workers' connections are closed, as the store
/// itself would close them; the next worker's request opens it again.
class Relay {
public:
    /// Takes a bound TCP socket. `admits` as ServerHooks::admits. `warn` prints a line for the user: the store cannot
    /// be reached. Both are called from the loop, which must outlive the relay.
    static base::Result<std::unique_ptr<Relay>> serve(base::Loop& loop, base::UniqueFd listener, TrunkTarget target,
                                                      std::function<bool(int socket)> admits = {},
                                                      std::function<void(const std::string&)> warn = {});
    /// Closes all connections.
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    [[nodiscard]] int port() const;
    /// Calls `done` when the store has been sent what the workers' closed connections held, at the latest after `most`.
    /// To be called in the loop.
    void drain(base::Duration most, std::function<void()> done);

private:
    struct Impl;
    explicit Relay(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::store
