// Closing connections; deadlines and memory limits of clients.

#include <sys/socket.h>

#include <algorithm>

#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {

void Server::Impl::admit(Client& client) {
    if (!std::exchange(client.greeted, true)) half_open.greet(slot_of(client.id), false);
    joins.stop(slot_of(client.id));
    client.decoder.limit_payload(wire::kMaxValueBytes);
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
        half_open.leave(slot);
        joins.stop(slot);
        messages.stop(slot);
        endings.stop(slot);
        held_bytes -= client->held;
        free_slots.push_back(slot);
        // With unread input the kernel would send RST, which may destroy the last reply.
        [[maybe_unused]] const auto ignored = recv(client->socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (client->extended && hooks.closed) hooks.closed(client->id, client->by_its_end);
    }
    dead.clear();
    if (turning) return;
    resume();
    renew_accepting();
}

void Server::Impl::check_times() {
    const auto now = base::Clock::now();
    for (Deadlines* deadlines : {&joins, &messages, &endings})
        for (const Slot slot : deadlines->overdue(now)) kill(*clients[slot]);
    for (const Slot slot : half_open.overdue(now)) kill(*clients[slot]);
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
    for (const auto& each : {half_open.next(), joins.next(), messages.next(), endings.next()})
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
    client.held =
        client.decoder.pending() + client.output.owned_bytes() + (client.unanswered ? client.unanswered->bytes() : 0);
    held_bytes += client.held - before;
}

/// The deadline of a message counts from its first byte. It is suspended while the server does not read from the
/// client.
void Server::Impl::time_message(Client& client, bool made_progress) {
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

}  // namespace dlaunch::store
