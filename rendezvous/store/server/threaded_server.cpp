#include "rendezvous/store/server/threaded_server.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <semaphore>
#include <system_error>
#include <thread>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/signals_blocked.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::store {

struct ThreadedServer::Impl {
    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        eventfd_write(stop.get(), 1);
        begin.release();
        if (thread.joinable()) thread.join();
    }

    void run() {
        begin.acquire();
        if (server) server->serve_until(stop.get());
    }

    base::Loop loop;  // never runs: the thread serves without it
    base::UniqueFd stop{eventfd(0, EFD_CLOEXEC)};
    std::unique_ptr<Server> server;
    std::counting_semaphore<2> begin{0};  // `server` is set, or there will be none
    std::thread thread;
};

ThreadedServer::ThreadedServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ThreadedServer::~ThreadedServer() = default;

/// Starts the thread first: a server that has accepted clients cannot be moved to another loop.
base::Result<std::unique_ptr<ThreadedServer>> ThreadedServer::adopt(base::UniqueFd listener, ThreadedOptions options) {
    auto impl = std::make_unique<Impl>();
    if (!impl->stop) return base::Error{fmt::format("eventfd: {}", std::strerror(errno))};
    try {
        const base::SignalsBlocked for_the_new_thread;
        impl->thread = std::thread([impl = impl.get()] { impl->run(); });
    } catch (const std::system_error&) {
        if (!options.without_thread) throw;
    }
    ServerHooks hooks;
    hooks.warn = std::move(options.warn);
    hooks.admits = std::move(options.admits);
    hooks.takes_trunks = !options.trunk_key.empty();
    hooks.serves_requests = !hooks.takes_trunks;
    hooks.tls = std::move(options.tls);
    base::Loop& loop = impl->thread.joinable() ? impl->loop : *options.without_thread;
    auto server = Server::adopt(loop, std::move(listener), std::move(hooks));
    if (!server) return server.error();
    impl->server = std::move(*server);
    impl->server->take_trunks(options.trunk_key);
    impl->begin.release();
    return std::unique_ptr<ThreadedServer>(new ThreadedServer(std::move(impl)));
}

int ThreadedServer::port() const { return impl_->server->port(); }

}  // namespace dlaunch::store
