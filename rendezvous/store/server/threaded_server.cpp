#include "rendezvous/store/server/threaded_server.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/signals_blocked.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::store {

struct ThreadedServer::Impl {
    base::Loop loop;  // never runs: the thread serves without it
    base::UniqueFd stop{eventfd(0, EFD_CLOEXEC)};
    std::unique_ptr<Server> server;
    std::thread thread;
};

ThreadedServer::ThreadedServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ThreadedServer::~ThreadedServer() {
    eventfd_write(impl_->stop.get(), 1);
    impl_->thread.join();
}

base::Result<std::unique_ptr<ThreadedServer>> ThreadedServer::adopt(base::UniqueFd listener) {
    auto impl = std::make_unique<Impl>();
    if (!impl->stop) return base::Error{fmt::format("eventfd: {}", std::strerror(errno))};
    auto server = Server::adopt(impl->loop, std::move(listener));
    if (!server) return server.error();
    impl->server = std::move(*server);
    const base::SignalsBlocked for_the_new_thread;
    impl->thread = std::thread([impl = impl.get()] { impl->server->serve_until(impl->stop.get()); });
    return std::unique_ptr<ThreadedServer>(new ThreadedServer(std::move(impl)));
}

int ThreadedServer::port() const { return impl_->server->port(); }

}  // namespace dlaunch::store
