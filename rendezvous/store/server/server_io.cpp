// Reading, serving, writing.

#include <algorithm>
#include <cerrno>
#include <span>

#include "rendezvous/auth/client_hello.hpp"
#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {
namespace {

constexpr std::uint64_t kStopEvent = kListenerEvent - 1;
constexpr int kRounds = 16;                                   // epoll_wait() calls per turn of the loop
constexpr auto kTurn = std::chrono::milliseconds(20);         // about; the loop's timers wait for its end
constexpr auto kForever = std::chrono::milliseconds(60'000);  // an upper bound of a wait; waking early is harmless

}  // namespace

bool Server::Impl::watch_for(int fd, int operation, std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    return epoll_ctl(set.get(), operation, fd, &event) == 0;
}

/// The epoll set is ready. A turn takes long where other processes leave little of the processor.
void Server::Impl::turn() {
    const base::Time until = base::Clock::now() + kTurn;
    for (int count = 0; count < kRounds && round(0) > 1 && base::Clock::now() < until; ++count) {
        // After a single event, another epoll_wait() would most likely find nothing.
    }
    if (is_busy()) turn_again();
}

void Server::Impl::turn_again() {
    if (!alone) next_turn = loop.after(base::Duration::zero(), [this] { turn(); });
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
        round(is_busy() ? 0 : static_cast<int>(wait.count()));
        if (next && base::Clock::now() >= *next) check_times();
    }
}

/// Reads from all ready clients, then writes to all with output. Returns the number of events.
int Server::Impl::round(int timeout_ms) {
    std::array<epoll_event, 256> events;
    const int count = epoll_wait(set.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    turning = true;
    hellos = 0;
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
    next_handshakes();
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
    else if ((client.waits || is_held(client)) && events & kFailed)
        kill(client);
}

void Server::Impl::read(Client& client) {
    if (suspend(client) || (is_awaited(client) && hellos >= kHellos)) return;
    std::size_t most = is_crowded() && client.id != favoured ? kShare : buffer.size();
    if (is_awaited(client)) most = auth::kMostClientHello;
    take(client, client.stream.receive(std::span(buffer).first(most)));
}

void Server::Impl::take(Client& client, const net::Stream::Received& received) {
    using Kind = net::Stream::Received::Kind;
    if (client.shakes_hands) end_handshake(client);
    if (received.kind == Kind::bytes) {
        if (client.is_new) return read_first(client, received.bytes);
        client.decoder.feed(received.bytes);
        serve(client);
        touch(client);
    } else if (received.kind == Kind::nothing) {
        if (client.stream.has_unsent()) touch(client);
    } else if (received.kind == Kind::end) {
        client.by_fin = !client.unwritable;
        finish(client);
    } else if (received.kind == Kind::failed) {
        kill(client);
    }
}

/// Executes the decoder's requests until none is left or the client has too many unread replies.
void Server::Impl::serve(Client& client) {
    wire::Request request;
    bool made_progress = false;
    for (;;) {
        client.full = is_held(client) || client.output.size() > room() || !answer_keys(client);
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
        if (is_request && is_old && !hooks.request) core.give_up(slot_of(client.id));
        if (!is_request || !carry_out(client, request)) finish(client);
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
    if (hooks.request) return hooks.request(client.id, request, *client.decoder.numbering());
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
    if (hooks.tls && !client.stream.is_secure()) {
        refuse(client, Stranger::without_token);
        return true;
    }
    if (hooks.takes_trunks && wire::is_of_trunk(request.number)) return take_frame(client, request);
    if (!hooks.extension) return false;
    if (!client.extended && client.greeted) {
        joins.start(slot_of(client.id), base::Clock::now());
        arm_timer();
    }
    client.extended = true;
    hooks.extension(client.id, request.number, request.value);
    return true;
}

/// Of WAITs and BARRIERs.
void Server::Impl::send_answers() {
    for (const Core::Woken& woken : core.woken()) {
        Client& client = *clients[woken.connection];
        client.output.byte(answer_byte(client, woken));
        if (client.inner) flush_inner(client);
        touch(client);
    }
    core.clear_woken();
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
        send_answers();
        if (touched.empty()) break;
        for (const Slot slot : std::exchange(touched, {}))
            if (clients[slot]) settle(*clients[slot]);
    }
    turning = outer;
    if (!turning && !dead.empty()) reap_later();
}

/// Sends the output, and continues serving when the client has read enough. A client that reads as fast as the server
/// writes waits for the next turn after kWriteBytes.
void Server::Impl::settle(Client& client) {
    client.touched = false;
    for (std::size_t written = 0; !client.dead;) {
        written += client.inner ? flush_inner(client) : flush(client);
        if (client.dead || !client.full || is_held(client) || client.output.size() > room() / 2) break;
        if (written > kWriteBytes) {
            unfinished.push_back(slot_of(client.id));
            if (!turning && !next_turn) turn_again();
            break;
        }
        serve(client);
    }
    if (client.dead) return;
    count(client);
    renew_watch(client);
}

/// The peer has closed the connection. Its last messages may still be unread: a node's good-bye, for example. read()
/// reports the end behind them.
void Server::Impl::stop_writing(Client& client) {
    client.unwritable = true;
    client.output = {};
    if (client.ending || !(client.events & EPOLLIN)) kill(client);
}

/// Returns the number of bytes sent.
std::size_t Server::Impl::flush(Client& client) {
    std::size_t written = 0;
    if (client.unwritable) {
        stop_writing(client);
        return written;
    }
    const bool was_stuck = std::exchange(client.stuck, false);
    while ((!client.output.empty() && client.stream.is_open()) || client.stream.has_unsent()) {
        std::array<iovec, 64> parts;
        const auto sent = client.stream.send(std::span(parts).first(client.output.gather(parts)));
        client.output.consume(sent.bytes);
        written += sent.bytes;
        if (sent.error != 0) {
            const bool has_closed = sent.error == EPIPE || sent.error == ECONNRESET;
            has_closed ? stop_writing(client) : kill(client);
            return written;
        }
        if (sent.blocked) {
            if (!was_stuck) client.unread_since = base::Clock::now();
            client.stuck = true;
            if (client.trunk) unblock(client);
            return written;
        }
    }
    if (client.trunk) unblock(client);
    if (written > 0 && hooks.drained) hooks.drained(client.id);
    if (client.ending) kill(client);
    return written;
}

void Server::Impl::renew_watch(Client& client) {
    if (client.inner) return;
    const bool reads = !client.full && !client.ending && !client.suspended && !client.waits;
    const std::uint32_t events = (reads ? EPOLLIN : 0U) | (client.stuck ? EPOLLOUT : 0U);
    if (events == client.events) return;
    client.events = events;
    watch_for(client.stream.fd(), EPOLL_CTL_MOD, events, slot_of(client.id));
}

}  // namespace dlaunch::store
