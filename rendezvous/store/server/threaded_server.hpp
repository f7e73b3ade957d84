#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

/// A store without hooks in a thread of its own, so that the node's loop does not delay it. No signal is delivered to
/// the thread.
class ThreadedServer {
public:
    /// Takes a bound TCP socket, and serves from the return on. `warn` as ServerHooks::warn, called in the thread. If
    /// the system refuses a thread (a seccomp filter, the limit of processes), the loop `without_thread` serves; null:
    /// std::system_error is thrown.
    static base::Result<std::unique_ptr<ThreadedServer>> adopt(base::UniqueFd listener,
                                                               std::function<void(const std::string&)> warn = {},
                                                               base::Loop* without_thread = nullptr);
    /// Closes the port and all connections, and joins the thread.
    ~ThreadedServer();
    ThreadedServer(const ThreadedServer&) = delete;
    ThreadedServer& operator=(const ThreadedServer&) = delete;

    [[nodiscard]] int port() const;

private:
    struct Impl;
    explicit ThreadedServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::store
