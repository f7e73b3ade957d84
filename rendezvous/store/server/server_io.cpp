// The server's events: accepting, reading, writing, ending.

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {
namespace {

constexpr std::uint64_t kListenerEvent = ~std::uint64_t{0}, kStopEvent = kListenerEvent - 1;
constexpr int kAccepts = 64;  // most newcomers before the others' turn
constexpr int kRounds = 16;   // most looks at the set before the loop's other work
constexpr auto kNoDescriptorsPause = std::chrono::milliseconds(100);
constexpr auto kForever = std::chrono::milliseconds(60'000);  // a wait that ends for nothing now and then

constexpr int kMostForgotten = 65'536;  // of those that wait to be accepted: a flood must not hold the loop

Slot slot_of(PeerId peer) { return static_cast<Slot>(peer); }

bool has_hung_up(int socket) {
    pollfd what{socket, POLLRDHUP, 0};
    return poll(&what, 1, 0) > 0;
}

}  // namespace

/// A socket that was open before the server: of those that have connected, some may be dead. They are of an earlier
/// round, and what they sent would else be taken for this one's.
bool Server::Impl::start() {
    if (!set || !watch_for(listener.socket.get(), EPOLL_CTL_ADD, EPOLLIN, kListenerEvent)) return false;
    std::string address;
    for (base::UniqueFd socket; (socket = accept_one(address));)
        if (!has_hung_up(socket.get())) add(std::move(socket), std::move(address));
    watch = loop.readable(set.get(), [this] { turn(); });
    return true;
}

bool Server::Impl::listen_too(base::UniqueFd socket) {
    if (!watch_for(socket.get(), EPOLL_CTL_ADD, EPOLLIN, kListenerEvent)) return false;
    more_listeners.push_back(std::move(socket));
    return true;
}

void Server::Impl::watch_listeners(std::uint32_t events) {
    watch_for(listener.socket.get(), EPOLL_CTL_MOD, events, kListenerEvent);
    for (const base::UniqueFd& each : more_listeners) watch_for(each.get(), EPOLL_CTL_MOD, events, kListenerEvent);
}

void Server::Impl::forget() {
    std::string address;
    for (int count = 0; count < kMostForgotten && accept_one(address); ++count) {}
    for (const auto& client : clients)
        if (client && !client->extended) kill(*client);
    core.forget();
}

bool Server::Impl::watch_for(int fd, int operation, std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    return epoll_ctl(set.get(), operation, fd, &event) == 0;
}

/// The loop has seen that something is ready.
void Server::Impl::turn() {
    for (int count = 0; count < kRounds && round(0) > 1; ++count) {
        // Where only one was ready, another look would most likely be for nothing.
    }
}

/// Without the loop: waits here. Nothing else of this object uses the loop meanwhile.
void Server::Impl::serve_until(int stop) {
    watch = {};
    timer = {};
    alone = true;
    watch_for(stop, EPOLL_CTL_ADD, EPOLLIN, kStopEvent);
    while (alone) {
        const auto next = next_time();
        const auto left = next ? std::chrono::ceil<std::chrono::milliseconds>(*next - base::Clock::now()) : kForever;
        round(static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kForever).count()));
        if (next && base::Clock::now() >= *next) check_times();
    }
}

/// Reads from all that are ready, then writes to all that are to be told something; how many were ready.
int Server::Impl::round(int timeout_ms) {
    std::array<epoll_event, 256> events;
    const int count = epoll_wait(set.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    turning = true;
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.u64 == kListenerEvent)
            accept_some();
        else if (event.data.u64 == kStopEvent)
            alone = false;
        else if (Client* client = clients[event.data.u64].get(); client && !client->dead)
            on_event(*client, event.events);
    }
    settle_all();
    reap();
    turning = false;
    if (!touched.empty()) settle_all();  // by a hook that was told of an end
    return count;
}

base::UniqueFd Server::Impl::accept_one(std::string& address) const {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const auto accept_from = [&](const base::UniqueFd& at) {
        size = sizeof from;
        return base::UniqueFd(
            accept4(at.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    };
    base::UniqueFd socket = accept_from(listener.socket);
    for (auto at = more_listeners.begin(); !socket && errno == EAGAIN && at != more_listeners.end(); ++at)
        socket = accept_from(*at);
    if (socket) address = address_text(from);
    return socket;
}

void Server::Impl::accept_some() {
    for (int i = 0; i < kAccepts; ++i) {
        std::string address;
        base::UniqueFd socket = accept_one(address);
        if (!socket) {
            if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
            // Nothing to accept it with: the newcomer waits in the kernel, and the loop must not spin meanwhile.
            watch_listeners(0);
            accept_again = base::Clock::now() + kNoDescriptorsPause;
            return arm_timer();
        }
        add(std::move(socket), std::move(address));
    }
}

void Server::Impl::add(base::UniqueFd socket, std::string address) {
    if (free_slots.empty()) {
        free_slots.push_back(static_cast<Slot>(clients.size()));
        clients.emplace_back();
    }
    const Slot slot = free_slots.back();
    if (!watch_for(socket.get(), EPOLL_CTL_ADD, EPOLLIN, slot)) return;
    free_slots.pop_back();
    const PeerId peer = PeerId{++accepted} << 32 | slot;
    half_open.enter(slot, address, base::Clock::now());
    clients[slot] = std::make_unique<Client>(std::move(socket), peer, std::move(address), hooks.extension != nullptr);
    check_times();
}

void Server::Impl::on_event(Client& client, std::uint32_t events) {
    constexpr std::uint32_t kFailed = EPOLLERR | EPOLLHUP;
    if (client.stuck && events & (EPOLLOUT | kFailed))
        touch(client);
    else if (client.events & EPOLLIN)
        read(client);
}

void Server::Impl::read(Client& client) {
    const ssize_t count = recv(client.socket.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
        client.decoder.feed({buffer.data(), static_cast<std::size_t>(count)});
        serve(client);
        touch(client);
    } else if (count == 0) {
        client.by_its_end = true;
        end(client);
    } else if (errno != EAGAIN && errno != EINTR) {
        kill(client);
    }
}

/// Carries out what the decoder has, until there is nothing more or the client has too much to read.
void Server::Impl::serve(Client& client) {
    wire::Request request;
    for (;;) {
        client.full = client.output.size() > limits.unread_bytes;
        if (client.full || client.ending || client.dead) break;
        const auto outcome = client.decoder.next(request);
        const bool is_request = outcome == wire::Decoder::Outcome::request;
        const auto numbering = client.decoder.numbering();
        const bool is_old = numbering == wire::Numbering::torch_1_13;
        if (!client.greeted && numbering && (is_request || !is_old)) {
            client.greeted = true;
            half_open.greet(slot_of(client.peer), is_old);
        }
        if (outcome == wire::Decoder::Outcome::more) break;
        // A client of 1.13 cannot cancel a WAIT: that it goes on says that it has given up.
        if (is_request && is_old) core.give_up(slot_of(client.peer));
        if (!is_request || !carry_out(client, request)) end(client);
    }
    client.decoder.keep();
}

bool Server::Impl::carry_out(Client& client, const wire::Request& request) {
    if (request.message != wire::Message::extension)
        return core.handle(slot_of(client.peer), request, client.output) != Core::Verdict::refused;
    client.extended = true;
    hooks.extension(client.peer, request.number, request.value);
    return true;
}

/// There is something to send, or to end: at the end of the round, or now where there is none.
void Server::Impl::touch(Client& client) {
    if (!client.touched) touched.push_back(slot_of(client.peer));
    client.touched = true;
    if (!turning) settle_all();
}

void Server::Impl::settle_all() {
    const bool outer = std::exchange(turning, true);
    for (;;) {
        for (const Slot slot : core.woken()) {
            clients[slot]->output.byte(wire::kStopWaiting);
            touch(*clients[slot]);
        }
        core.clear_woken();
        if (touched.empty()) break;
        for (const Slot slot : std::exchange(touched, {})) settle(*clients[slot]);
    }
    turning = outer;
    if (!turning && !dead.empty()) reap_later();
}

/// Sends what there is, and goes on serving when the client has read enough.
void Server::Impl::settle(Client& client) {
    client.touched = false;
    while (!client.dead) {
        flush(client);
        if (client.dead || !client.full || client.output.size() > limits.unread_bytes / 2) break;
        serve(client);
    }
    if (!client.dead) renew_watch(client);
}

void Server::Impl::flush(Client& client) {
    client.stuck = false;
    while (!client.output.empty()) {
        std::array<iovec, 64> parts;
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = client.output.gather(parts);
        const int fd = client.socket.get();
        const ssize_t count = message.msg_iovlen == 1 ? ::send(fd, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL)
                                                      : sendmsg(fd, &message, MSG_NOSIGNAL);
        if (count >= 0) {
            client.output.consume(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            client.stuck = true;
            return;
        } else if (errno != EINTR) {
            return kill(client);
        }
    }
    if (client.ending) kill(client);
}

void Server::Impl::renew_watch(Client& client) {
    const bool reads = !client.full && !client.ending;
    const std::uint32_t events = (reads ? EPOLLIN : 0U) | (client.stuck ? EPOLLOUT : 0U);
    if (events == client.events) return;
    client.events = events;
    watch_for(client.socket.get(), EPOLL_CTL_MOD, events, slot_of(client.peer));
}

/// Takes no more from it; closes it when its output is gone.
void Server::Impl::end(Client& client) {
    if (client.ending || client.dead) return;
    client.ending = true;
    core.close(slot_of(client.peer));
    if (client.output.empty()) return kill(client);
    endings.emplace_back(base::Clock::now() + limits.half_open_time, client.peer);
    arm_timer();
    touch(client);
}

void Server::Impl::kill(Client& client) {
    if (client.dead) return;
    client.dead = true;
    core.close(slot_of(client.peer));
    dead.push_back(slot_of(client.peer));
    if (!turning) reap_later();
}

/// Not from inside a call of our user: it would hear of the end before that call returns.
void Server::Impl::reap_later() {
    if (!reaper && !alone) reaper = loop.after(base::Duration::zero(), [this] { reap(); });
}

void Server::Impl::reap() {
    reaper = {};
    for (std::size_t i = 0; i < dead.size(); ++i) {  // a hook may close more
        const Slot slot = dead[i];
        const auto client = std::move(clients[slot]);
        half_open.leave(slot);
        free_slots.push_back(slot);
        // Unread input would turn the end into a reset, which may overtake the last reply.
        [[maybe_unused]] const auto ignored = recv(client->socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (client->extended && hooks.closed) hooks.closed(client->peer, client->by_its_end);
    }
    dead.clear();
}

void Server::Impl::check_times() {
    const auto now = base::Clock::now();
    for (const Slot slot : half_open.overdue(now)) kill(*clients[slot]);
    for (; !endings.empty() && endings.front().first <= now; endings.pop_front()) {
        if (Client* client = find(endings.front().second)) kill(*client);
    }
    if (accept_again && *accept_again <= now) {
        accept_again.reset();
        watch_listeners(EPOLLIN);
    }
    if (alone && !turning) reap();
    arm_timer();
}

/// When check_times() has something to do.
std::optional<base::Time> Server::Impl::next_time() const {
    auto next = half_open.next();
    if (!endings.empty() && (!next || endings.front().first < *next)) next = endings.front().first;
    if (accept_again && (!next || *accept_again < *next)) next = accept_again;
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

Client* Server::Impl::find(PeerId peer) const {
    const Slot slot = slot_of(peer);
    Client* client = slot < clients.size() ? clients[slot].get() : nullptr;
    return client && client->peer == peer && !client->dead ? client : nullptr;
}

}  // namespace dlaunch::store
