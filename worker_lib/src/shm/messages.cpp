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
constexpr auto kMaxSleep = std::chrono::milliseconds(100);

}  // namespace

/// One call of the program.
struct Messages::Pending final : MessageCall {
    Pending(const Transfer& what, std::shared_ptr<Messages> messages) : MessageCall(what), owner(std::move(messages)) {}

    bool wait_until(Time deadline) override {
        if (!done()) owner->wait(this, deadline);
        return done();
    }

    const std::shared_ptr<Messages> owner;
    bool opened = false;   // the envelope of this send is in the ring
    std::size_t sent = 0;  // bytes
};

Messages::Messages(std::shared_ptr<Segment> segment, std::shared_ptr<Exchange> exchange, GroupInfo group)
    : segment_(std::move(segment)),
      exchange_(std::move(exchange)),
      group_(std::move(group)),
      own_(segment_->control(group_.rank)),
      matcher_(group_) {
    for (int r = 0; r < group_.size; ++r)
        peers_.push_back({Pipe(segment_->ring(r, group_.rank), segment_->ring_bytes()),
                          Pipe(segment_->ring(group_.rank, r), segment_->ring_bytes())});
}

Messages::~Messages() { close(); }

void Messages::ring(int rank) {
    Control& control = segment_->control(rank);
    control.doorbell.fetch_add(1);
    if (control.doorbell_sleepers.load() != 0) futex_wake_all(control.doorbell);
}

std::shared_ptr<WorkState> Messages::post(const Transfer& transfer) {
    const std::lock_guard lock(mutex_);
    auto call = std::make_shared<Pending>(transfer, shared_from_this());
    if (!ended_) {
        try {
            exchange_->check_usable();
        } catch (const Error& error) {
            ended_ = std::make_unique<Error>(error);
        }
    }
    if (ended_) {
        call->fail(*ended_);
    } else if (transfer.sends && exchange_->has_ended(transfer.peer)) {
        call->fail(exchange_->ended_error(transfer.peer, where(transfer, group_)));
    } else if (transfer.sends) {
        peers_[static_cast<std::size_t>(transfer.peer)].sends.push_back(call);
        push(transfer.peer);
    } else {
        matcher_.post(call);
        if (!call->done()) progress();
    }
    if (!call->done() && transfer.background) wake_progress_thread();
    return call;
}

/// Makes the progress thread drive calls that no thread waits for.
void Messages::wake_progress_thread() {
    if (!progress_thread_.joinable()) {
        const base::SignalsBlocked for_the_new_thread;
        progress_thread_ = std::thread([this] { run_progress_thread(); });
    }
    work_to_do_.notify_one();
}

// --- progress; all functions require the mutex ----------------------------------------------------------------------

bool Messages::progress() {
    bool moved = false;
    for (int r = 0; r < group_.size; ++r) {
        while (push(r)) moved = true;
        while (pull(r)) moved = true;
    }
    return moved;
}

/// Writes as much to one rank's ring as its capacity permits. True: bytes were written.
bool Messages::push(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    bool moved = false;
    while (!peer.sends.empty()) {
        Pending& call = *peer.sends.front();
        if (!call.opened) {
            if (peer.out.writable() < sizeof(Envelope)) break;
            const Envelope envelope = call.envelope();
            peer.out.write(reinterpret_cast<const std::byte*>(&envelope), sizeof envelope);
            call.opened = true;
            moved = true;
        }
        const std::size_t size =
            peer.out.write(static_cast<const std::byte*>(call.transfer.data) + call.sent, call.bytes() - call.sent);
        call.sent += size;
        moved = moved || size > 0;
        if (call.sent < call.bytes()) break;
        call.finish();
        peer.sends.pop_front();
    }
    if (moved) ring(rank);
    return moved;
}

/// Whether the progress thread reads the rest of a discarded message, so that its sender does not block.
bool Messages::drains(const Peer& peer) const {
    return peer.incoming.fate == Incoming::Fate::discarded && !peer.ended && !ended_;
}

bool Messages::has_pending() const {
    return matcher_.has_receives() || std::ranges::any_of(peers_, [&](const Peer& peer) {
               return !peer.sends.empty() || peer.incoming.receive || drains(peer);
           });
}

void Messages::find_place(int rank) {
    try {
        matcher_.decide(rank, peers_[static_cast<std::size_t>(rank)].incoming);
    } catch (const Error& error) {
        const Error why = failure(error.code(), {"recv", 0, group_.name}, error.ranks(), error.what());
        exchange_->give_up(why);
        end_all(why);
    }
}

/// Reads from one rank's ring while receives need it. True: a message was read to its end.
bool Messages::pull(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    Incoming& incoming = peer.incoming;
    if (incoming.head == 0) {
        if (!matcher_.has_receives() || peer.in.readable() < sizeof(Envelope)) return false;
        incoming.head = peer.in.read(reinterpret_cast<std::byte*>(&incoming.envelope), sizeof(Envelope));
    }
    if (incoming.fate == Incoming::Fate::undecided) find_place(rank);
    if (incoming.fate == Incoming::Fate::undecided) return false;
    const std::size_t left = incoming.envelope.bytes - incoming.body;
    const std::size_t size = incoming.fate == Incoming::Fate::discarded
                                 ? peer.in.skip(left)
                                 : peer.in.read(incoming.place().data() + incoming.body, left);
    incoming.body += size;
    if (size > 0) ring(rank);
    if (!incoming.is_whole()) {
        if (drains(peer)) wake_progress_thread();
        return false;
    }
    matcher_.arrived(rank, incoming);
    return true;
}

void Messages::note_ended_peers() {
    for (int r = 0; r < group_.size; ++r)
        peers_[static_cast<std::size_t>(r)].ended = r != group_.rank && exchange_->has_ended(r);
}

/// Why a call fails now: it is past its deadline, or its peer had ended before its ring was last drained. A peer that
/// ends later may still have written the message.
std::optional<Error> Messages::verdict(const Transfer& transfer, Time now) const {
    const auto is_gone = [&](int r) { return peers_[static_cast<std::size_t>(r)].ended; };
    const bool from_any = transfer.peer == kAnySource;
    bool all_gone = group_.size > 1;
    for (int r = 0; from_any && r < group_.size; ++r) all_gone = all_gone && (r == group_.rank || is_gone(r));
    if (from_any ? all_gone : is_gone(transfer.peer)) {
        const int another = group_.rank == 0 ? 1 : 0;
        return exchange_->ended_error(from_any ? another : transfer.peer, where(transfer, group_));
    }
    if (now < transfer.deadline) return std::nullopt;
    return overdue(transfer, group_, now);
}

/// Fails all calls that have a verdict.
void Messages::expire() {
    const Time now = Clock::now();
    for (Peer& peer : peers_) {
        Incoming& incoming = peer.incoming;
        if (incoming.receive)
            if (const auto error = verdict(incoming.receive->transfer, now)) {
                incoming.receive->fail(*error);
                incoming.discard();
                wake_progress_thread();
            }
        std::erase_if(peer.sends, [&](const Call& call) {
            const auto error = verdict(call->transfer, now);
            if (!error) return false;
            call->fail(*error);
            // A partly written message cannot be withdrawn from the ring, and no other can follow it.
            if (call->opened) exchange_->give_up(*error);
            return true;
        });
    }
    matcher_.fail([&](const Transfer& transfer) { return verdict(transfer, now); });
}

// --- waiting ---------------------------------------------------------------------------------------------------------

/// Makes progress until `call` is done; without a call, until nothing is pending or close() was called.
void Messages::wait(Pending* call, Time deadline) {
    for (int spin = 0;; ++spin) {
        const std::uint32_t seen = own_.doorbell.load();
        {
            const std::lock_guard lock(mutex_);
            if (spin >= kYields) note_ended_peers();
            if (progress()) spin = 0;
            if (spin >= kYields) {
                expire();
                progress();
            }
            if (call ? call->done() : closing_ || !has_pending()) return;
        }
        const Time now = Clock::now();
        if (now >= deadline) return;
        if (spin < kYields) {
            sched_yield();
            continue;
        }
        Time until = std::min(deadline, now + kMaxSleep);
        if (call) until = std::min(until, std::max(call->transfer.deadline, now + std::chrono::milliseconds(1)));
        own_.doorbell_sleepers.fetch_add(1);
        futex_wait(own_.doorbell, seen, until - now);
        own_.doorbell_sleepers.fetch_sub(1);
    }
}

void Messages::run_progress_thread() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            work_to_do_.wait(lock, [&] { return closing_ || has_pending(); });
            if (closing_) return;
        }
        wait(nullptr, Time::max());
    }
}

void Messages::abort(const Error& why) {
    const std::lock_guard lock(mutex_);
    end_all(why);
    ring(group_.rank);
}

void Messages::end_all(const Error& why) {
    if (!ended_)
        ended_ = std::make_unique<Error>(why.code() == ErrorCode::aborted ? why : ended_before(why, group_.name));
    const auto error = [&](const Transfer& transfer) {
        return why.code() == ErrorCode::aborted ? why : interrupted(why, where(transfer, group_));
    };
    matcher_.fail(error);
    for (Peer& peer : peers_) {
        if (peer.incoming.receive) {
            peer.incoming.receive->fail(error(peer.incoming.receive->transfer));
            peer.incoming.discard();
        }
        for (const Call& call : peer.sends) call->fail(error(call->transfer));
        peer.sends.clear();
    }
}

void Messages::close() {
    abort({ErrorCode::aborted, fmt::format("group {} was destroyed", group_.name), {}, {"", 0, group_.name}});
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        work_to_do_.notify_all();
    }
    ring(group_.rank);
    if (progress_thread_.joinable()) progress_thread_.join();
}

}  // namespace dlaunch::worker::shm
