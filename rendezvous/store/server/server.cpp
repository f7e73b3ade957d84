#include "rendezvous/store/server/server.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() = default;

base::Result<std::unique_ptr<Server>> Server::listen(base::Loop& loop, const std::string& address, int port,
                                                     ServerHooks hooks, ServerLimits limits) {
    auto listener = open_listener(address, port, Names::resolved);
    if (!listener) return listener.error();
    return adopt(loop, std::move(listener->socket), std::move(hooks), limits);
}

base::Result<std::unique_ptr<Server>> Server::adopt(base::Loop& loop, base::UniqueFd socket, ServerHooks hooks,
                                                    ServerLimits limits) {
    auto listener = adopt_listener(std::move(socket));
    if (!listener) return listener.error();
    auto impl = std::make_unique<Impl>(loop, std::move(*listener), std::move(hooks), limits);
    if (!impl->start()) return base::Error{impl->listener.endpoint + ": " + std::strerror(errno)};
    return std::unique_ptr<Server>(new Server(std::move(impl)));
}

base::Result<void> Server::listen_too(base::UniqueFd socket) {
    auto listener = adopt_listener(std::move(socket));
    if (!listener) return listener.error();
    if (!impl_->listen_too(std::move(listener->socket)))
        return base::Error{listener->endpoint + ": " + std::strerror(errno)};
    return {};
}

int Server::port() const { return impl_->listener.port; }

const std::string& Server::endpoint() const { return impl_->listener.endpoint; }

std::string Server::address_of(ConnectionId connection) const {
    const Client* client = impl_->find(connection);
    return client ? client->address : std::string();
}

std::size_t Server::clients() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(impl_->clients, [](const auto& client) { return client && !client->dead; }));
}

template <class Bytes>
void Server::push(ConnectionId to, const Bytes& bytes) {
    Client* client = impl_->find(to);
    if (!client || client->ending) return;
    client->output.raw(bytes);
    if (!client->stuck) impl_->touch(*client);
}

void Server::send(ConnectionId to, std::string_view bytes) { push(to, bytes); }

void Server::send(ConnectionId to, const Value& bytes) { push(to, bytes); }

std::size_t Server::unread(ConnectionId connection) const {
    const Client* client = impl_->find(connection);
    return client ? client->output.size() : 0;
}

void Server::admit(ConnectionId connection) {
    if (Client* client = impl_->find(connection)) impl_->admit(*client);
}

void Server::close(ConnectionId connection) {
    if (Client* client = impl_->find(connection)) impl_->end(*client);
}

void Server::hold(ConnectionId connection, bool on) {
    Client* client = impl_->find(connection);
    if (client && std::exchange(client->on_hold, on) && !on && !client->stuck) impl_->touch(*client);
}

void Server::hold_all(bool on) {
    if (!std::exchange(impl_->all_on_hold, on) || on) return;
    for (const auto& client : impl_->clients)
        if (client && client->full && !client->dead && !client->stuck) impl_->touch(*client);
}

void Server::clear() { impl_->clear(); }

void Server::take_trunks(std::string key) { impl_->take_trunks(std::move(key)); }

void Server::expect_requests(bool expected) { impl_->expect_requests(expected); }

void Server::serve_until(int stop) { impl_->serve_until(stop); }

void Server::stop() {
    impl_->watch = {};
    impl_->timer = {};
    impl_->next_turn = {};
    impl_->reaper = {};
    impl_->clients.clear();
    impl_->listener.socket.reset();
    impl_->more_listeners.clear();
    impl_->set.reset();
}

}  // namespace dlaunch::store
