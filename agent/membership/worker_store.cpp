#include "agent/membership/worker_store.hpp"

#include <fcntl.h>

#include <exception>
#include <utility>

namespace dlaunch::agent {

WorkerStore::WorkerStore(base::Loop& loop, std::function<void(const std::string&)> warn)
    : loop_(loop), warn_(std::move(warn)) {}

base::Result<void> WorkerStore::listen(const std::string& address, const std::string& other, int port) {
    auto listener = store::open_listener(address, port);
    if (!listener) return listener.error();
    listener_ = std::move(*listener);
    if (other.empty()) return {};
    if (auto second = store::open_listener(other, listener_.port)) {
        other_listener_ = std::move(*second);
        other_address_ = other;
    }
    return {};
}

void WorkerStore::begin_round(bool at_other_address, Serve serve) {
    const store::Listener& listener = at_other_address ? other_listener_ : listener_;
    begin(base::UniqueFd(fcntl(listener.socket.get(), F_DUPFD_CLOEXEC, 0)), serve);
}

base::Result<void> WorkerStore::begin_round_at(const std::string& address, int port) {
    end_round();
    auto listener = store::open_listener(address, port);
    if (!listener) return listener.error();
    begin(std::move(listener->socket), Serve::at_once);
    return {};
}

void WorkerStore::begin(base::UniqueFd socket, Serve serve) {
    end_round();
    socket_ = std::move(socket);
    if (serve == Serve::at_once) return start_server();
    first_client_ = loop_.readable(socket_.get(), [this] { start_server(); });
}

/// If no thread can be started, the round has no store, but the agent lives on.
void WorkerStore::start_server() {
    first_client_ = {};
    try {
        auto server = store::ThreadedServer::adopt(std::move(socket_));
        if (!server) return warn_("the worker store: " + server.error().text);
        server_ = std::move(*server);
    } catch (const std::exception& error) {
        warn_(std::string("the worker store: ") + error.what());
    }
}

void WorkerStore::end_round() {
    first_client_ = {};
    socket_.reset();
    server_.reset();
}

}  // namespace dlaunch::agent
