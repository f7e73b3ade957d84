// Closing connections; deadlines and memory limits of clients.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/escape.hpp"
#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {
namespace {

constexpr auto kReportPause = std::chrono::minutes(1);

/// The start of a key.
std::string shown(std::string_view key) {
    constexpr std::size_t kMost = 64;
    return base::printable(key.substr(0, kMost)) + (key.size() > kMost ? "..." : "");
}

}  // namespace

void Server::Impl::admit(Client& client) {
    if (!std::exchange(client.greeted, true)) half_open.greet(slot_of(client.id), false);
    joins.stop(slot_of(client.id));
    client.decoder.limit_payload(wire::kMaxValueBytes);
}

/// The client sends nothing more that is of use.
void Server::Impl::finish(Client& client) {
    if (!hooks.request) return end(client);
    if (client.finished || client.ending || client.dead) return;
    client.finished = client.full = true;
    hooks.finished(client.id);
    touch(client);
}

/// Stops reading; closes the connection when its output is sent.
void Server::Impl::end(Client& client) {
    if (client.ending || client.dead) return;
    client.ending = true;
    client.unanswered.reset();
    core.close(slot_of(client.id));
    if (client.output.empty()) return kill(client);
    endings.start(slot_of(client.id), base::Clock::now());
    arm_timer();
    touch(client);
}

void Server::Impl::kill(Client& client) {
    if (client.dead) return;
    client.dead = true;
    core.close(slot_of(client.id));
    dead.push_back(slot_of(client.id));
    if (!turning) reap_later();
}

/// Deferred to the loop: inside a caller's call, the hook would report the end before that call returns.
void Server::Impl::reap_later() {
    if (!reaper && !alone) reaper = loop.after(base::Duration::zero(), [this] { reap(); });
}

void Server::Impl::reap() {
    reaper = {};
    for (std::size_t i = 0; i < dead.size(); ++i) {  // a hook may add some
        const Slot slot = dead[i];
        const auto client = std::move(clients[slot]);
        if (!client->inner) half_open.leave(slot);
        joins.stop(slot);
        silences.stop(slot);
        messages.stop(slot);
        endings.stop(slot);
        if (client->shakes_hands) --handshakes;
        handshake_times.stop(slot);
        held_bytes -= client->held;
        free_slots.push_back(slot);
        if (client->inner) {
            leave_trunk(*client);
            continue;
        }
        client->stream.end();
        if (client->trunk)
            for (const auto& [channel, id] : client->trunk->clients)
                if (Client* inner = find(id)) kill(*inner);
        if (client->extended && hooks.trailing && !client->by_fin && client->stream.is_secure())
            hooks.trailing(client->id, client->stream.trailing());
        if ((client->extended || hooks.request) && hooks.closed) hooks.closed(client->id, client->by_fin);
    }
    dead.clear();
    if (turning) return;
    resume();
    next_handshakes();
    renew_accepting();
}

void Server::Impl::check_times() {
    const auto now = base::Clock::now();
    for (Deadlines* deadlines : {&joins, &messages, &endings, &handshake_times})
        for (const Slot slot : deadlines->overdue(now)) kill(*clients[slot]);
    for (const Slot slot : half_open.overdue(now)) kill(*clients[slot]);
    if (accept_again)
        for (const Slot slot : silences.overdue(now)) kill(*clients[slot]);
    if (accept_again && *accept_again <= now) {
        accept_again.reset();
        if (!has_descriptors()) accept_again = now + kNoDescriptorsPause;
    }
    if (!turning) reap();
    arm_timer();
}

/// The next deadline of check_times().
std::optional<base::Time> Server::Impl::next_time() const {
    std::optional<base::Time> next = accept_again;
    for (const auto& each : {half_open.next(), joins.next(), messages.next(), endings.next(), handshake_times.next()})
        if (each && (!next || *each < *next)) next = each;
    return next;
}

void Server::Impl::arm_timer() {
    const auto next = next_time();
    if (alone || !next || (timer && timer_at <= *next)) return;
    timer_at = *next;
    timer = loop.after(timer_at - base::Clock::now(), [this] {
        timer = {};
        check_times();
    });
}

Client* Server::Impl::find(ConnectionId id) const {
    const Slot slot = slot_of(id);
    Client* client = slot < clients.size() ? clients[slot].get() : nullptr;
    return client && client->id == id && !client->dead ? client : nullptr;
}

// --- memory ---------------------------------------------------------------------------------------------------------

void Server::Impl::count(Client& client) {
    const std::size_t before = client.held;
    client.held = client.hello.size() + client.decoder.pending() + client.output.owned_bytes() +
                  (client.unanswered ? client.unanswered->bytes() : 0);
    held_bytes += client.held - before;
}

/// The deadline of a message counts from its first byte. It is suspended while the server does not read from the
/// client.
void Server::Impl::time_message(Client& client, bool made_progress) {
    if (client.inner) return;  // the relay sends what it has, and its trunk is timed
    const bool is_late = client.decoder.pending() > 0 && !client.full && !client.ending && !client.suspended;
    if (is_late && (!client.late || made_progress)) {
        messages.start(slot_of(client.id), base::Clock::now());
        arm_timer();
    } else if (!is_late && client.late) {
        messages.stop(slot_of(client.id));
    }
    client.late = is_late;
}

/// Whether this client must wait before it may hold more. One client at a time is exempt, so that long messages are
/// completed one after the other.
bool Server::Impl::suspend(Client& client) {
    if (!is_crowded() || client.held <= kShare || client.id == favoured) return false;
    if (favoured == 0) {
        favoured = client.id;
        return false;
    }
    client.suspended = true;
    time_message(client, false);
    suspended.push_back(client.id);
    renew_watch(client);
    return true;
}

void Server::Impl::resume() {
    if (favoured == 0 && suspended.empty()) return;
    if (const Client* client = find(favoured); !client || client->full || client->decoder.pending() == 0) favoured = 0;
    while (!suspended.empty() && (favoured == 0 || !is_crowded())) {
        Client* client = find(suspended.front());
        suspended.pop_front();
        if (!client) continue;
        favoured = client->id;
        client->suspended = false;
        time_message(*client, false);
        renew_watch(*client);
    }
}

/// Closes the clients that have not read for the longest time, until the retired values are below half of their limit.
/// The last reader stays: a single client may always receive a list of all keys.
void Server::Impl::drop_retired() {
    if (core.retired().count() <= limits.retired_bytes) return;
    settle_all();
    std::vector<Client*> readers;
    for (const auto& client : clients)
        if (client && !client->dead && client->output.shared_bytes() > 0) readers.push_back(client.get());
    std::sort(readers.begin(), readers.end(),
              [](const Client* one, const Client* other) { return one->unread_since < other->unread_since; });
    for (std::size_t at = 0; at + 1 < readers.size() && core.retired().count() > limits.retired_bytes / 2; ++at) {
        readers[at]->output = {};
        kill(*readers[at]);
    }
}

/// Before the first round and between rounds only clients outside the job use the store.
void Server::Impl::expect_requests(bool now_expected) {
    if (std::exchange(expected, now_expected) == now_expected) return;
    core.limit_kept(kept_limit());
    if (expected) return;
    core.clear();
    for (const auto& client : clients)
        if (client && !client->dead && client->greeted && !client->extended) expect_first_request(*client);
}

void Server::Impl::expect_first_request(Client& client) {
    client.silent = is_shared();
    if (client.silent) silences.start(slot_of(client.id), base::Clock::now());
}

void Server::Impl::report_full(const wire::Request& request) {
    const auto now = base::Clock::now();
    if (!hooks.warn || now < next_report) return;
    next_report = now + kReportPause;
    hooks.warn(fmt::format(
        "the store at {} is full: key \"{}\" would exceed {} MiB of keys, values and queues{}; its client was "
        "disconnected. Delete keys that are no longer needed, or exchange large data through files",
        listener.endpoint, shown(request.words.empty() ? request.key : request.words.front()), kept_limit() >> 20,
        expected ? "" : " while no round runs"));
}

}  // namespace dlaunch::store
