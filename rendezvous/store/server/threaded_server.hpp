#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

struct ThreadedOptions {
    std::function<void(const std::string&)> warn{};  ///< as ServerHooks::warn, called in the thread
    /// Serves if the system refuses a thread (a seccomp filter, the limit of processes); null: std::system_error is
    /// thrown.
    base::Loop* without_thread = nullptr;
    std::function<bool(int socket)> admits{};  ///< as ServerHooks::admits, called in the thread
    std::string trunk_key{};                   ///< only trunks with this key are served; empty: only single clients
    auth::TlsContextPtr tls{};                 ///< of trunks; null: plain
};

/// A store in a thread of its own, so that the node's loop does not delay it. No signal is delivered to
/// the thread.
class ThreadedServer {
public:
    /// Takes a bound TCP socket, and serves from the return on.
    static base::Result<std::unique_ptr<ThreadedServer>> adopt(base::UniqueFd listener, ThreadedOptions options = {});
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
