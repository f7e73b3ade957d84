#include "agent/services/worker_store.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

namespace dlaunch::agent {
namespace {

constexpr int kTries = 3;  // a port that is free at one address may be taken at the other

}  // namespace

WorkerStore::WorkerStore(base::Loop& loop, Warn warn)
    : loop_(loop), warn_(std::make_shared<const Warn>(std::move(warn))) {}

base::Result<void> WorkerStore::listen(const std::string& address, const std::string& other, int port) {
    auto listener = store::open_listener(address, port);
    if (!listener) return listener.error();
    address_ = address;
    fixed_port_ = port != 0;
    listener_ = std::move(*listener);
    other_listener_ = {};
    other_address_.clear();
    if (other.empty()) return {};
    if (auto second = store::open_listener(other, listener_.port)) {
        other_listener_ = std::move(*second);
        other_address_ = other;
    }
    return {};
}

void WorkerStore::renew() {
    if (fixed_port_) return;
    for (int tries = 0; tries < kTries; ++tries) {
        auto listener = store::open_listener(address_, 0);
        if (!listener) return;
        if (!other_address_.empty()) {
            auto second = store::open_listener(other_address_, listener->port);
            if (!second) continue;
            other_listener_ = std::move(*second);
        }
        listener_ = std::move(*listener);
        return;
    }
}

base::Result<base::UniqueFd> WorkerStore::socket_for(const Assignment& assignment) const {
    const StoreDuty& duty = assignment.store;
    if (duty.kind == StoreDuty::Kind::named) {
        auto listener = store::open_listener(duty.address, assignment.master_port);
        if (!listener) return base::Error{cannot_serve(listener.error().text)};
        return std::move(listener->socket);
    }
    const store::Listener& listener = duty.kind == StoreDuty::Kind::other_address ? other_listener_ : listener_;
    base::UniqueFd copy(fcntl(listener.socket.get(), F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) return base::Error{std::string("the worker store: ") + std::strerror(errno)};
    return copy;
}

void WorkerStore::prepare(const Assignment& assignment) {
    end_round();
    failed_ = false;
    if (assignment.store.kind == StoreDuty::Kind::none) return;
    auto socket = socket_for(assignment);
    if (!socket) {
        failed_ = true;
        return (*warn_)(socket.error().text);
    }
    socket_ = std::move(*socket);
    if (assignment.group_world_size > 1) return start_server();
    first_client_ = loop_.readable(socket_.get(), [this] { start_server(); });
}

void WorkerStore::contribute(const Assignment&, int, Contribution& contribution) {
    if (failed_) contribution.variables.emplace_back("TORCHELASTIC_USE_AGENT_STORE", "False");
}

/// If the server cannot be started, the round has no store; the agent continues.
void WorkerStore::start_server() {
    first_client_ = {};
    try {
        const auto warn = [&loop = loop_, self = std::weak_ptr(warn_)](const std::string& text) {
            loop.post([self, text] {
                if (const auto living = self.lock()) (*living)(text);
            });
        };
        auto server = store::ThreadedServer::adopt(std::move(socket_), warn, &loop_);
        failed_ = !server;
        if (!server) return (*warn_)("the worker store: " + server.error().text);
        server_ = std::move(*server);
    } catch (const std::exception& error) {
        failed_ = true;
        (*warn_)(std::string("the worker store: ") + error.what());
    }
}

void WorkerStore::end_round() {
    first_client_ = {};
    socket_.reset();
    server_.reset();
}

}  // namespace dlaunch::agent
