#include "agent/services/worker_store.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "rendezvous/net/port_owner.hpp"
#include "rendezvous/wire/trunk.hpp"

namespace dlaunch::agent {
namespace {

constexpr int kTries = 3;  // a port that is free at one address may be taken at the other

}  // namespace

std::string cannot_serve(const std::string& reason, int port) {
    return "the worker store: " + rendezvous::with_port_owner(reason, port) +
           "; --master-addr and --master-port must name a free port of this node";
}

WorkerStore::WorkerStore(base::Loop& loop, Warn warn)
    : loop_(loop), warn_(std::make_shared<const Warn>(std::move(warn))), relay_(loop) {}

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
        if (!listener) return base::Error{cannot_serve(listener.error().text, assignment.master_port)};
        return std::move(listener->socket);
    }
    const store::Listener& listener = duty.kind == StoreDuty::Kind::other_address ? other_listener_ : listener_;
    base::UniqueFd copy(fcntl(listener.socket.get(), F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) return base::Error{std::string("the worker store: ") + std::strerror(errno)};
    return copy;
}

int WorkerStore::open_relay() {
    const auto port = relay_.listen();
    if (port) return *port;
    (*warn_)(port.error().text);
    return 0;
}

void WorkerStore::prepare(const Assignment& assignment) {
    end_round();
    failed_ = false;
    start_store(assignment);
    if (assignment.relayed) start_relay(assignment);
}

void WorkerStore::start_store(const Assignment& assignment) {
    if (assignment.store.kind == StoreDuty::Kind::none) return;
    auto socket = socket_for(assignment);
    if (!socket) {
        failed_ = true;
        return (*warn_)(socket.error().text);
    }
    socket_ = std::move(*socket);
    trunk_key_ = assignment.relayed ? trunk_key(assignment) : "";
    if (assignment.group_world_size > 1) return start_server();
    first_client_ = loop_.readable(socket_.get(), [this] { start_server(); });
}

void WorkerStore::start_relay(const Assignment& assignment) {
    if (assignment.relay_port == 0) {
        failed_ = true;
        return;
    }
    const auto started = relay_.start({.host = assignment.master_addr,
                                       .port = assignment.master_port,
                                       .key = trunk_key(assignment),
                                       .tls = access_.tls,
                                       .patience = access_.patience},
                                      warn_from_thread());
    if (started) return;
    failed_ = true;
    (*warn_)(started.error().text);
}

std::string WorkerStore::trunk_key(const Assignment& assignment) const {
    return wire::trunk_key(DLAUNCH_VERSION, access_.job_id, assignment.round);
}

WorkerStore::Warn WorkerStore::warn_from_thread() const {
    return [&loop = loop_, self = std::weak_ptr(warn_)](const std::string& text) {
        loop.post([self, text] {
            if (const auto living = self.lock()) (*living)(text);
        });
    };
}

void WorkerStore::contribute(const Assignment&, int, Contribution& contribution) {
    if (failed_) contribution.variables.emplace_back("TORCHELASTIC_USE_AGENT_STORE", "False");
}

/// If the server cannot be started, the round has no store; the agent continues.
void WorkerStore::start_server() {
    first_client_ = {};
    try {
        store::ThreadedOptions options{.warn = warn_from_thread(), .without_thread = &loop_};
        if (access_.own_user_only) options.admits = is_of_own_user;
        options.trunk_key = trunk_key_;
        if (!trunk_key_.empty()) options.tls = access_.tls;
        auto server = store::ThreadedServer::adopt(std::move(socket_), std::move(options));
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
