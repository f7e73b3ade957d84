#pragma once

#include <memory>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

/// A store without hooks in a thread of its own, for a node whose loop has other things to do. No signal is delivered
/// to that thread.
class ThreadedServer {
public:
    /// Takes a bound TCP socket. Serves when this returns.
    static base::Result<std::unique_ptr<ThreadedServer>> adopt(base::UniqueFd listener);
    /// Closes the port and all connections, and ends the thread.
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
