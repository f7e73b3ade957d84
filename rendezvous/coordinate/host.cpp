#include "rendezvous/coordinate/host.hpp"

#include <utility>

#include "rendezvous/auth/key.hpp"
#include "rendezvous/auth/openssl.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/wire/rounds.hpp"
#include "rendezvous/wire/trunk.hpp"

namespace dlaunch::rendezvous {
namespace {

/// A member with so many unread bytes has been frozen for long. Its connection is closed; when the member reconnects, a
/// Welcome brings it up to date.
constexpr std::size_t kMostUnread = 8 << 20;

/// All agents of a large job connect at once, and those that find the kernel's backlog full (4096) try again a second
/// later. A half-open connection takes about a kilobyte.
constexpr std::size_t kMostHalfOpen = 16'384;

}  // namespace

CoordinatorHost::CoordinatorHost(base::Loop& loop, Coordinator::Options options, OnRecord on_record, Print print)
    : loop_(loop),
      worker_port_(options.master_port),
      relays_store_(options.relays_store),
      version_(options.version),
      job_id_(options.job_id),
      on_record_(std::move(on_record)),
      print_(std::move(print)),
      coordinator_(std::move(options), base::Clock::now()) {}

base::Result<std::unique_ptr<CoordinatorHost>> CoordinatorHost::adopt(base::Loop& loop, base::UniqueFd listener,
                                                                      Coordinator::Options options, OnRecord on_record,
                                                                      auth::TlsContextPtr tls, Print print) {
    std::unique_ptr<CoordinatorHost> host(
        new CoordinatorHost(loop, std::move(options), std::move(on_record), std::move(print)));
    store::ServerHooks hooks;
    hooks.extension = [self = host.get()](base::ConnectionId peer, std::uint8_t number, std::string_view payload) {
        self->on_message(peer, number, payload);
    };
    hooks.closed = [self = host.get()](base::ConnectionId peer, bool by_fin) {
        self->goodbyes_.erase(peer);
        self->coordinator_.closed(base::Clock::now(), peer, by_fin);
        self->act();
    };
    hooks.trailing = [self = host.get()](base::ConnectionId peer, std::string_view bytes) {
        self->on_trailing(peer, bytes);
    };
    hooks.warn = [self = host.get()](const std::string& text) {
        self->coordinator_.warn(text);
        self->act();
    };
    hooks.tls = std::move(tls);
    hooks.stranger = [self = host.get()](const std::string& address, store::Stranger kind) {
        return self->on_stranger(address, kind);
    };
    const bool is_shared = host->worker_port_ == store::bound_port(listener.get());
    hooks.serves_requests = is_shared && !host->relays_store_;
    hooks.takes_trunks = is_shared && host->relays_store_;
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

void CoordinatorHost::no_more_hosts() {
    coordinator_.no_more_hosts(base::Clock::now());
    act();
}

/// A secret is worth nothing on another connection, so it may pass in plain.
void CoordinatorHost::on_trailing(base::ConnectionId peer, std::string_view bytes) {
    const auto found = goodbyes_.find(peer);
    const auto ssl = auth::OpenSsl::load();
    if (found == goodbyes_.end() || !ssl) return;
    const std::string hash = auth::sha256(**ssl, bytes);
    const bool returns = hash == found->second.returns;
    if (returns || hash == found->second.gone) coordinator_.received(base::Clock::now(), peer, Gone{returns});
}

void CoordinatorHost::on_message(base::ConnectionId peer, std::uint8_t number, std::string_view payload) {
    const auto message = wire::decode(number, payload);
    if (!message) return server_->close(peer);
    const auto* join = std::get_if<Join>(&*message);
    if (join && !join->goodbye.gone.empty()) goodbyes_[peer] = join->goodbye;
    coordinator_.received(base::Clock::now(), peer, *message);
    act();
}

/// A job without a token answers in plain, because it has no key for the stranger's TLS.
std::string CoordinatorHost::on_stranger(const std::string& address, store::Stranger kind) {
    if (const std::string line = stranger_lines_.line(base::Clock::now(), address, kind); !line.empty() && print_)
        print_(line);
    if (kind == store::Stranger::of_another_token) return {};
    return wire::encode(Refused{false, exit_status::kRefused,
                                kind == store::Stranger::with_token
                                    ? "this node has a token and that job has none, expected no token, or the job's on "
                                      "all of its nodes"
                                    : "this node has no token and that job has one, expected --token-file with the "
                                      "token of that job"});
}

/// Must precede the Assigned messages: workers of the new round on other nodes may use the store at once. While nodes
/// gather, no worker lives.
void CoordinatorHost::renew_worker_store() {
    const bool is_shared = worker_port_ == server_->port();
    if (is_shared) server_->expect_requests(coordinator_.phase() != Coordinator::Phase::gathering);
    if (coordinator_.phase() != Coordinator::Phase::running || coordinator_.round() == round_) return;
    round_ = coordinator_.round();
    if (!is_shared) return;
    server_->clear();
    if (relays_store_) server_->take_trunks(wire::trunk_key(version_, job_id_, round_));
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
