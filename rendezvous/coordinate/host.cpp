#include "rendezvous/coordinate/host.hpp"

#include <utility>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

/// A member with so many unread bytes has been frozen for long. Its connection is closed; when the member reconnects, a
/// Welcome brings it up to date.
constexpr std::size_t kMostUnread = 8 << 20;

/// All agents of a large job connect at once, and those that find the kernel's backlog full (4096) try again a second
/// later. A half-open connection takes about a kilobyte.
constexpr std::size_t kMostHalfOpen = 16'384;

}  // namespace

CoordinatorHost::CoordinatorHost(base::Loop& loop, Coordinator::Options options, OnRecord on_record)
    : loop_(loop),
      worker_port_(options.master_port),
      on_record_(std::move(on_record)),
      coordinator_(std::move(options), base::Clock::now()) {}

base::Result<std::unique_ptr<CoordinatorHost>> CoordinatorHost::adopt(base::Loop& loop, base::UniqueFd listener,
                                                                      Coordinator::Options options,
                                                                      OnRecord on_record) {
    std::unique_ptr<CoordinatorHost> host(new CoordinatorHost(loop, std::move(options), std::move(on_record)));
    store::ServerHooks hooks;
    hooks.extension = [self = host.get()](base::ConnectionId peer, std::uint8_t number, std::string_view payload) {
        self->on_message(peer, number, payload);
    };
    hooks.closed = [self = host.get()](base::ConnectionId peer, bool by_fin) {
        self->coordinator_.closed(base::Clock::now(), peer, by_fin);
        self->act();
    };
    hooks.warn = [self = host.get()](const std::string& text) {
        self->coordinator_.warn(text);
        self->act();
    };
    hooks.serves_requests = host->worker_port_ == store::bound_port(listener.get());
    store::ServerLimits limits;
    limits.half_open = kMostHalfOpen;
    auto server = store::Server::adopt(loop, std::move(listener), std::move(hooks), limits);
    if (!server) return server.error();
    host->server_ = std::move(*server);
    host->act();
    return host;
}

void CoordinatorHost::when_finished(std::function<void()> callback) {
    when_finished_ = std::move(callback);
    act();
}

void CoordinatorHost::granted(Time until) {
    coordinator_.granted(until);
    act();
}

void CoordinatorHost::resign() {
    coordinator_.resign(base::Clock::now());
    act();
}

void CoordinatorHost::end_job(int status, const std::string& reason, bool at_once) {
    coordinator_.end_job(base::Clock::now(), status, reason, at_once);
    act();
}

void CoordinatorHost::on_message(base::ConnectionId peer, std::uint8_t number, std::string_view payload) {
    const auto message = wire::decode(number, payload);
    if (!message) return server_->close(peer);
    coordinator_.received(base::Clock::now(), peer, *message);
    act();
}

/// Must precede the Assigned messages: workers of the new round on other nodes may use the store at once. While nodes
/// gather, no worker lives.
void CoordinatorHost::renew_worker_store() {
    const bool is_shared = worker_port_ == server_->port();
    if (is_shared) server_->expect_requests(coordinator_.phase() != Coordinator::Phase::gathering);
    if (coordinator_.phase() != Coordinator::Phase::running || coordinator_.round() == round_) return;
    round_ = coordinator_.round();
    if (is_shared) server_->clear();
}

void CoordinatorHost::act() {
    renew_worker_store();
    for (const Coordinator::Action& action : coordinator_.take_actions()) {
        if (const auto* close = std::get_if<Coordinator::Close>(&action)) {
            server_->close(close->connection);
            continue;
        }
        if (const auto* record = std::get_if<Coordinator::Record>(&action)) {
            if (on_record_) on_record_(record->snapshot);
            continue;
        }
        const auto& send = std::get<Coordinator::Send>(action);
        const store::Value frame(wire::encode(send.message));  // encoded once for all receivers
        const bool admits = std::holds_alternative<Welcome>(send.message);
        for (ConnectionId to : send.to) {
            if (admits) server_->admit(to);
            if (server_->unread(to) < kMostUnread)
                server_->send(to, frame);
            else
                server_->close(to);
        }
    }
    if (coordinator_.finished() && when_finished_) loop_.post(std::exchange(when_finished_, nullptr));

    deadline_.set(coordinator_.deadline(), [this] {
        coordinator_.tick(base::Clock::now());
        act();
    });
}

}  // namespace dlaunch::rendezvous
