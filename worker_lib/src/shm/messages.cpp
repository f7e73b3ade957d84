#include "worker_lib/src/shm/messages.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <dlaunch/options.hpp>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker::shm {
namespace {

constexpr int kYields = 50;
constexpr auto kLongestSleep = std::chrono::milliseconds(100);

}  // namespace

/// One call of the program.
struct Messages::Pending final : WorkState {
    Pending(const Transfer& what, std::shared_ptr<Messages> messages)
        : transfer(what), owner(std::move(messages)), began(Clock::now()) {}

    bool wait_until(Time deadline) override {
        if (!done()) owner->wait(this, deadline);
        return done();
    }

    const Transfer transfer;
    const std::shared_ptr<Messages> owner;
    const Time began;
    bool opened = false;   // a send whose envelope is in the ring
    std::size_t sent = 0;  // bytes
    [[nodiscard]] std::size_t bytes() const { return transfer.count * size_of(transfer.type); }
};

Messages::Messages(std::shared_ptr<Segment> segment, std::shared_ptr<Exchange> exchange, Place place)
    : segment_(std::move(segment)),
      exchange_(std::move(exchange)),
      place_(std::move(place)),
      own_(segment_->control(place_.rank)) {
    for (int r = 0; r < place_.size; ++r)
        peers_.push_back({Pipe(segment_->ring(r, place_.rank), segment_->ring_bytes()),
                          Pipe(segment_->ring(place_.rank, r), segment_->ring_bytes())});
}

Messages::~Messages() { close(); }

Error::Where Messages::where(const Pending& call) const {
    return {call.transfer.sends ? "send" : "recv", 0, place_.group};
}

void Messages::fail(const Call& call, const Error& error) {
    --pending_;
    call->finish(std::make_exception_ptr(error));
}

void Messages::ring(int rank) {
    Control& control = segment_->control(rank);
    control.doorbell.fetch_add(1);
    if (control.door_sleepers.load() != 0) futex_wake_all(control.doorbell);
}

std::shared_ptr<WorkState> Messages::post(const Transfer& transfer) {
    const std::lock_guard lock(mutex_);
    auto call = std::make_shared<Pending>(transfer, shared_from_this());
    if (!ended_) {
        try {
            exchange_->check_going();
        } catch (const Error& error) {
            ended_ = std::make_unique<Error>(error);
        }
    }
    ++pending_;
    if (ended_) {
        fail(call, *ended_);
        return call;
    }
    if (transfer.sends && exchange_->has_ended(transfer.peer)) {
        fail(call, exchange_->ended(transfer.peer, where(*call)));
        return call;
    }
    if (transfer.sends) {
        peers_[static_cast<std::size_t>(transfer.peer)].sends.push_back(call);
        push(transfer.peer);
    } else {
        receives_.push_back(call);
        finish_early();
        if (!call->done()) move();
    }
    if (!call->done() && transfer.background) carry_on();
    return call;
}

/// Where nobody waits.
void Messages::carry_on() {
    if (!helper_.joinable()) {
        const base::SignalsBlocked for_the_new_thread;
        helper_ = std::thread([this] { help(); });
    }
    work_to_do_.notify_one();
}

// --- moving; all with the mutex held --------------------------------------------------------------------------------

bool Messages::move() {
    bool moved = false;
    for (int r = 0; r < place_.size; ++r) {
        while (push(r)) moved = true;
        while (pull(r)) moved = true;
    }
    return moved;
}

/// Writes to one rank what there is room for.
bool Messages::push(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    bool moved = false;
    while (!peer.sends.empty()) {
        Pending& call = *peer.sends.front();
        if (!call.opened) {
            if (peer.out.writable() < sizeof(Envelope)) break;
            const Envelope envelope{call.bytes(), call.transfer.tag, call.transfer.type, {}};
            peer.out.write(reinterpret_cast<const std::byte*>(&envelope), sizeof envelope);
            call.opened = true;
            moved = true;
        }
        const std::size_t size =
            peer.out.write(static_cast<const std::byte*>(call.transfer.data) + call.sent, call.bytes() - call.sent);
        call.sent += size;
        moved = moved || size > 0;
        if (call.sent < call.bytes()) break;
        --pending_;
        call.finish();
        peer.sends.pop_front();
    }
    if (moved) ring(rank);
    return moved;
}

bool Messages::accepts(const Call& call, int source, const Envelope& envelope) const {
    const Transfer& t = call->transfer;
    return (t.peer == source || t.peer == kAnySource) && (t.tag == envelope.tag || t.tag == kAnyTag);
}

/// Whether the message may go into the receive's buffer; else the receive has failed.
bool Messages::fits(const Call& call, int source, const Envelope& envelope) {
    const Transfer& t = call->transfer;
    const std::size_t count = envelope.bytes / size_of(envelope.type);
    if (envelope.type == t.type && (count == t.count || (t.up_to && count < t.count))) return true;
    fail(call, failure(ErrorCode::mismatch, where(*call), {source, place_.rank},
                       fmt::format("rank {} sent {} {} with tag {}, rank {} receives {}{} {}", source, count,
                                   name_of(envelope.type), envelope.tag, place_.rank, t.up_to ? "up to " : "", t.count,
                                   name_of(t.type))));
    return false;
}

/// Decides where a message goes whose envelope has been read. False: nobody wants it, or anything behind it, yet.
bool Messages::open(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    const auto wanted = std::find_if(receives_.begin(), receives_.end(),
                                     [&](const Call& call) { return accepts(call, rank, peer.envelope); });
    if (wanted != receives_.end()) {
        const Call call = *wanted;
        receives_.erase(wanted);
        if (fits(call, rank, peer.envelope))
            peer.receiver = call;
        else
            discard(peer);
        return true;
    }
    const bool more_wanted = std::any_of(receives_.begin(), receives_.end(), [&](const Call& call) {
        return call->transfer.peer == rank || call->transfer.peer == kAnySource;
    });
    if (!more_wanted) return false;
    try {
        earlies_.push_back({rank, peer.envelope, room_for_early(place_.rank, rank, peer.envelope.bytes)});
    } catch (const Error& error) {
        const Error why = failure(error.code(), {"recv", 0, place_.group}, error.ranks(), error.what());
        exchange_->give_up(why);
        end_all(why);
        return false;
    }
    peer.early = &earlies_.back();
    return true;
}

/// Reads from one rank what is there and wanted.
bool Messages::pull(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.opened) {
        if (receives_.empty() || peer.in.readable() < sizeof(Envelope)) return false;
        peer.in.read(reinterpret_cast<std::byte*>(&peer.envelope), sizeof(Envelope));
        peer.opened = true;
        peer.arrived = 0;
    }
    if (!peer.receiver && !peer.early && !peer.discards && !open(rank)) return false;
    const std::size_t left = peer.envelope.bytes - peer.arrived;
    std::byte* to = peer.receiver ? static_cast<std::byte*>(peer.receiver->transfer.data)
                    : peer.early  ? peer.early->bytes.data()
                                  : nullptr;
    const std::size_t size = to ? peer.in.read(to + peer.arrived, left) : peer.in.skip(left);
    peer.arrived += size;
    if (size > 0) ring(rank);
    if (size < left) {
        if (peer.drains) carry_on();
        return false;
    }
    end_message(rank);
    return true;
}

void Messages::end_message(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.receiver) {
        --pending_;
        peer.receiver->finish({rank, peer.envelope.tag, peer.envelope.bytes / size_of(peer.envelope.type)});
    }
    end_drain(peer);
    const bool early = peer.early != nullptr;
    if (early) peer.early->arrived = peer.arrived;
    peer.opened = peer.discards = false;
    peer.receiver.reset();
    peer.early = nullptr;
    if (early) finish_early();
}

void Messages::discard(Peer& peer) {
    peer.discards = peer.drains = true;
    ++pending_;
}

void Messages::end_drain(Peer& peer) {
    if (peer.drains) --pending_;
    peer.drains = false;
}

/// Gives early messages to the receives that want them, as they came.
void Messages::finish_early() {
    for (auto at = receives_.begin(); at != receives_.end() && !earlies_.empty();) {
        const Call call = *at;
        const auto early = std::find_if(earlies_.begin(), earlies_.end(),
                                        [&](const Early& e) { return accepts(call, e.source, e.envelope); });
        if (early == earlies_.end() || early->arrived < early->envelope.bytes) {
            ++at;
            continue;
        }
        at = receives_.erase(at);
        if (deliver(call, *early)) --pending_;
        earlies_.erase(early);
    }
}

bool Messages::deliver(const Call& call, Early& early) {
    if (!fits(call, early.source, early.envelope)) return false;
    if (!early.bytes.empty()) std::memcpy(call->transfer.data, early.bytes.data(), early.bytes.size());
    call->finish({early.source, early.envelope.tag, early.envelope.bytes / size_of(early.envelope.type)});
    return true;
}

void Messages::note_who_ended() {
    for (int r = 0; r < place_.size; ++r)
        peers_[static_cast<std::size_t>(r)].ended = r != place_.rank && exchange_->has_ended(r);
}

/// Ends calls whose time is over, or whose peer had ended before its ring was looked into for the last time.
void Messages::expire() {
    const Time now = Clock::now();
    const auto verdict = [&](const Pending& call) -> std::unique_ptr<Error> {
        const int peer = call.transfer.peer;
        const auto gone = [&](int r) { return peers_[static_cast<std::size_t>(r)].ended; };
        bool all_gone = place_.size > 1;
        for (int r = 0; r < place_.size; ++r) all_gone = all_gone && (r == place_.rank || gone(r));
        if (peer == kAnySource ? all_gone : gone(peer)) {
            const int lost = peer == kAnySource ? (place_.rank == 0 ? 1 : 0) : peer;
            return std::make_unique<Error>(exchange_->ended(lost, where(call)));
        }
        if (now < call.transfer.deadline) return nullptr;
        const std::vector<int> ranks = peer == kAnySource ? std::vector<int>{} : std::vector<int>{peer};
        return std::make_unique<Error>(
            failure(ErrorCode::timeout, where(call), ranks,
                    fmt::format("rank {} waited {} for {}{}", place_.rank, describe(now - call.began),
                                ranks.empty() ? "any rank" : list_ranks(ranks),
                                call.transfer.sends ? " to receive" : " to send")));
    };
    for (int r = 0; r < place_.size; ++r) {
        Peer& peer = peers_[static_cast<std::size_t>(r)];
        if (peer.receiver)
            if (const auto error = verdict(*peer.receiver)) {
                fail(peer.receiver, *error);
                peer.receiver.reset();
                discard(peer);
                carry_on();
            }
        if (peer.ended) end_drain(peer);
        for (auto at = peer.sends.begin(); at != peer.sends.end();) {
            const auto error = verdict(**at);
            if (!error) {
                ++at;
                continue;
            }
            fail(*at, *error);
            // A message that was begun cannot be taken back: nothing can follow it.
            if ((*at)->opened) exchange_->give_up(*error);
            at = peer.sends.erase(at);
        }
    }
    for (auto at = receives_.begin(); at != receives_.end();) {
        const auto error = verdict(**at);
        if (error) fail(*at, *error);
        at = error ? receives_.erase(at) : std::next(at);
    }
}

// --- waiting ---------------------------------------------------------------------------------------------------------

/// Moves what can be moved until `call` is done, or, without a call, one turn.
void Messages::wait(Pending* call, Time deadline) {
    for (int turn = 0;; ++turn) {
        const std::uint32_t seen = own_.doorbell.load();
        {
            const std::lock_guard lock(mutex_);
            if (turn >= kYields) note_who_ended();
            if (move()) turn = 0;
            if (turn >= kYields) {
                expire();
                move();
            }
            if (call ? call->done() : pending_ == 0 || closing_) return;
        }
        const Time now = Clock::now();
        if (now >= deadline) return;
        if (turn < kYields) {
            sched_yield();
            continue;
        }
        Time until = std::min(deadline, now + kLongestSleep);
        if (call) until = std::min(until, std::max(call->transfer.deadline, now + std::chrono::milliseconds(1)));
        own_.door_sleepers.fetch_add(1);
        futex_wait(own_.doorbell, seen, until - now);
        own_.door_sleepers.fetch_sub(1);
    }
}

void Messages::help() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            work_to_do_.wait(lock, [&] { return closing_ || pending_ > 0; });
            if (closing_) return;
        }
        wait(nullptr, Time::max());
    }
}

void Messages::abort(const Error& why) {
    const std::lock_guard lock(mutex_);
    end_all(why);
    ring(place_.rank);
}

void Messages::end_all(const Error& why) {
    if (!ended_)
        ended_ = std::make_unique<Error>(why.code() == ErrorCode::aborted ? why : ended_before(why, place_.group));
    const auto end = [&](const Call& call) {
        fail(call, why.code() == ErrorCode::aborted ? why : interrupted(why, where(*call)));
    };
    for (const Call& call : receives_) end(call);
    receives_.clear();
    for (Peer& peer : peers_) {
        if (peer.receiver) {
            end(peer.receiver);
            peer.receiver.reset();
            peer.discards = true;
        }
        end_drain(peer);
        for (const Call& call : peer.sends) end(call);
        peer.sends.clear();
    }
}

void Messages::close() {
    abort({ErrorCode::aborted, fmt::format("group {} was destroyed", place_.group), {}, {"", 0, place_.group}});
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        work_to_do_.notify_all();
    }
    ring(place_.rank);
    if (helper_.joinable()) helper_.join();
}

}  // namespace dlaunch::worker::shm
