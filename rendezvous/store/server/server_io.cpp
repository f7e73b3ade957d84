// Reading, serving, writing.

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {
namespace {

constexpr std::uint64_t kStopEvent = kListenerEvent - 1;
constexpr int kRounds = 16;                                   // epoll_wait() calls per turn of the loop
constexpr auto kForever = std::chrono::milliseconds(60'000);  // an upper bound of a wait; waking early is harmless

}  // namespace

bool Server::Impl::watch_for(int fd, int operation, std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    return epoll_ctl(set.get(), operation, fd, &event) == 0;
}

/// The epoll set is ready.
void Server::Impl::turn() {
    for (int count = 0; count < kRounds && round(0) > 1; ++count) {
        // After a single event, another epoll_wait() would most likely find nothing.
    }
    if (!unfinished.empty()) next_turn = loop.after(base::Duration::zero(), [this] { turn(); });
}

/// Waits here instead of in the loop; nothing in this object uses the loop meanwhile.
void Server::Impl::serve_until(int stop) {
    watch = {};
    timer = {};
    alone = true;
    watch_for(stop, EPOLL_CTL_ADD, EPOLLIN, kStopEvent);
    while (alone) {
        const auto next = next_time();
        const auto left = next ? std::chrono::ceil<std::chrono::milliseconds>(*next - base::Clock::now()) : kForever;
        const auto wait = std::clamp(left, std::chrono::milliseconds(0), kForever);
        round(unfinished.empty() ? static_cast<int>(wait.count()) : 0);
        if (next && base::Clock::now() >= *next) check_times();
    }
}

/// Reads from all ready clients, then writes to all with output. Returns the number of events.
int Server::Impl::round(int timeout_ms) {
    std::array<epoll_event, 256> events;
    const int count = epoll_wait(set.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    turning = true;
    for (const Slot slot : std::exchange(unfinished, {}))
        if (clients[slot] && !clients[slot]->dead) touch(*clients[slot]);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.u64 == kListenerEvent)
            accept_some();
        else if (event.data.u64 == kStopEvent)
            alone = false;
        else if (Client* client = clients[event.data.u64].get(); client && !client->dead)
            on_event(*client, event.events);
        if (core.retired().at_most() > limits.retired_bytes) drop_retired();
    }
    settle_all();
    reap();
    resume();
    renew_accepting();
    turning = false;
    if (!touched.empty()) settle_all();  // by a `closed` hook
    return count;
}

void Server::Impl::on_event(Client& client, std::uint32_t events) {
    constexpr std::uint32_t kFailed = EPOLLERR | EPOLLHUP;
    if (client.stuck && events & (EPOLLOUT | kFailed))
        touch(client);
    else if (client.events & EPOLLIN)
        read(client);
}

void Server::Impl::read(Client& client) {
    if (suspend(client)) return;
    const std::size_t most = is_crowded() && client.id != favoured ? kShare : buffer.size();
    const ssize_t count = recv(client.socket.get(), buffer.data(), most, 0);
    if (count > 0) {
        client.decoder.feed({buffer.data(), static_cast<std::size_t>(count)});
        serve(client);
        touch(client);
    } else if (count == 0) {
        client.by_fin = true;
        end(client);
    } else if (errno != EAGAIN && errno != EINTR) {
        kill(client);
    }
}

/// Executes the decoder's requests until none is left or the client has too many unread replies.
void Server::Impl::serve(Client& client) {
    wire::Request request;
    bool made_progress = false;
    for (;;) {
        client.full = client.output.size() > room() || !answer_keys(client);
        if (client.full || client.ending || client.dead) break;
        const auto outcome = client.decoder.next(request);
        const bool is_request = outcome == wire::Decoder::Outcome::request;
        const auto numbering = client.decoder.numbering();
        const bool is_old = numbering == wire::Numbering::torch_1_13;
        if (!client.greeted && hooks.serves_requests && numbering && (is_request || !is_old)) {
            client.greeted = true;
            half_open.greet(slot_of(client.id), is_old);
            expect_first_request(client);
        }
        if (outcome == wire::Decoder::Outcome::more) break;
        made_progress = true;
        // A client of 1.13 cannot cancel a WAIT; its next request implies that its WAIT timed out.
        if (is_request && is_old) core.give_up(slot_of(client.id));
        if (!is_request || !carry_out(client, request)) end(client);
    }
    client.decoder.keep();
    time_message(client, made_progress);
    count(client);
}

/// Answers keys of a MULTI_GET up to the client's limit; false: some are left, and later requests wait.
bool Server::Impl::answer_keys(Client& client) {
    if (!client.unanswered) return true;
    while (!client.unanswered->empty() && client.output.size() <= room())
        core.get(client.unanswered->take(), client.output);
    if (!client.unanswered->empty()) return false;
    client.unanswered.reset();
    return true;
}

bool Server::Impl::carry_out(Client& client, const wire::Request& request) {
    const bool is_extension = request.operation == wire::StoreOperation::extension;
    if (client.silent && (is_extension || (expected && request.operation != wire::StoreOperation::ping))) {
        client.silent = false;
        silences.stop(slot_of(client.id));
    }
    if (request.operation == wire::StoreOperation::multi_get) {
        std::size_t answered = 0;
        for (; answered < request.words.size() && client.output.size() <= room(); ++answered)
            core.get(request.words[answered], client.output);
        if (const auto rest = request.words.subspan(answered); !rest.empty())
            client.unanswered = std::make_unique<UnansweredKeys>(rest);
        return true;
    }
    if (!is_extension) {
        const auto verdict = core.handle(slot_of(client.id), request, client.output);
        if (verdict == Core::Verdict::full) report_full(request);
        return verdict == Core::Verdict::changed || verdict == Core::Verdict::unchanged;
    }
    if (!client.extended && client.greeted) {
        joins.start(slot_of(client.id), base::Clock::now());
        arm_timer();
    }
    client.extended = true;
    hooks.extension(client.id, request.number, request.value);
    return true;
}

/// Queues the client for settle() at the end of the round; outside a round, settles now.
void Server::Impl::touch(Client& client) {
    if (!client.touched) touched.push_back(slot_of(client.id));
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

/// Sends the output, and continues serving when the client has read enough. A client that reads as fast as the server
/// writes waits for the next turn after kWriteBytes.
void Server::Impl::settle(Client& client) {
    client.touched = false;
    for (std::size_t written = 0; !client.dead;) {
        written += flush(client);
        if (client.dead || !client.full || client.output.size() > room() / 2) break;
        if (written > kWriteBytes) {
            unfinished.push_back(slot_of(client.id));
            if (!turning && !alone && !next_turn) next_turn = loop.after(base::Duration::zero(), [this] { turn(); });
            break;
        }
        serve(client);
    }
    if (client.dead) return;
    count(client);
    renew_watch(client);
}

/// Returns the number of bytes sent.
std::size_t Server::Impl::flush(Client& client) {
    std::size_t written = 0;
    const bool was_stuck = std::exchange(client.stuck, false);
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
            written += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            if (!was_stuck) client.unread_since = base::Clock::now();
            client.stuck = true;
            return written;
        } else if (errno != EINTR) {
            kill(client);
            return written;
        }
    }
    if (client.ending) kill(client);
    return written;
}

void Server::Impl::renew_watch(Client& client) {
    const bool reads = !client.full && !client.ending && !client.suspended;
    const std::uint32_t events = (reads ? EPOLLIN : 0U) | (client.stuck ? EPOLLOUT : 0U);
    if (events == client.events) return;
    client.events = events;
    watch_for(client.socket.get(), EPOLL_CTL_MOD, events, slot_of(client.id));
}

}  // namespace dlaunch::store
