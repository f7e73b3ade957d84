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
struct Messages::Pending final : WorkState {
    Pending(const Transfer& what, std::shared_ptr<Messages> messages) : transfer(what), owner(std::move(messages)) {}

    bool wait_until(Time deadline) override {
        if (!done()) owner->wait(this, deadline);
        return done();
    }

    const Transfer transfer;
    const std::shared_ptr<Messages> owner;
    bool opened = false;   // the envelope of this send is in the ring
    std::size_t sent = 0;  // bytes
    [[nodiscard]] std::size_t bytes() const { return transfer.count * size_of(transfer.type); }
};

Messages::Messages(std::shared_ptr<Segment> segment, std::shared_ptr<Exchange> exchange, GroupInfo group)
    : segment_(std::move(segment)),
      exchange_(std::move(exchange)),
      group_(std::move(group)),
      own_(segment_->control(group_.rank)) {
    for (int r = 0; r < group_.size; ++r)
        peers_.push_back({Pipe(segment_->ring(r, group_.rank), segment_->ring_bytes()),
                          Pipe(segment_->ring(group_.rank, r), segment_->ring_bytes())});
}

Messages::~Messages() { close(); }

Error::Where Messages::where(const Pending& call) const {
    return {call.transfer.sends ? "send" : "recv", 0, group_.name};
}

void Messages::fail(const Call& call, const Error& error) {
    --pending_;
    call->finish(std::make_exception_ptr(error));
}

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
    ++pending_;
    if (ended_) {
        fail(call, *ended_);
        return call;
    }
    if (transfer.sends && exchange_->has_ended(transfer.peer)) {
        fail(call, exchange_->ended_error(transfer.peer, where(*call)));
        return call;
    }
    if (transfer.sends) {
        peers_[static_cast<std::size_t>(transfer.peer)].sends.push_back(call);
        push(transfer.peer);
    } else {
        receives_.push_back(call);
        match_unexpected();
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
            const Envelope envelope{call.bytes(), call.transfer.tag, call.transfer.type};
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

/// True: type and count permit to receive the message into the buffer. False: the receive has been failed.
bool Messages::fits(const Call& call, int source, const Envelope& envelope) {
    const Transfer& t = call->transfer;
    const std::size_t count = envelope.bytes / size_of(envelope.type);
    if (envelope.type == t.type && (count == t.count || (t.up_to && count < t.count))) return true;
    fail(call, failure(ErrorCode::mismatch, where(*call), {source, group_.rank},
                       fmt::format("rank {} sent {} {} with tag {}, rank {} receives {}{} {}", group_.named(source),
                                   count, name_of(envelope.type), envelope.tag, group_.named(group_.rank),
                                   t.up_to ? "up to " : "", t.count, name_of(t.type))));
    return false;
}

/// Chooses the destination of a message after its envelope was read. False: neither this message nor one behind it has
/// a receive yet.
bool Messages::match(int rank) {
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
        unexpected_.push_back({rank, peer.envelope, allocate_unexpected(group_, rank, peer.envelope.bytes)});
    } catch (const Error& error) {
        const Error why = failure(error.code(), {"recv", 0, group_.name}, error.ranks(), error.what());
        exchange_->give_up(why);
        end_all(why);
        return false;
    }
    peer.unexpected = &unexpected_.back();
    return true;
}

/// Reads from one rank's ring while receives need it. True: a message was read to its end.
bool Messages::pull(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.opened) {
        if (receives_.empty() || peer.in.readable() < sizeof(Envelope)) return false;
        peer.in.read(reinterpret_cast<std::byte*>(&peer.envelope), sizeof(Envelope));
        peer.opened = true;
        peer.arrived = 0;
    }
    if (!peer.receiver && !peer.unexpected && !peer.discarding && !match(rank)) return false;
    const std::size_t left = peer.envelope.bytes - peer.arrived;
    std::byte* to = peer.receiver     ? static_cast<std::byte*>(peer.receiver->transfer.data)
                    : peer.unexpected ? peer.unexpected->bytes.data()
                                      : nullptr;
    const std::size_t size = to ? peer.in.read(to + peer.arrived, left) : peer.in.skip(left);
    peer.arrived += size;
    if (size > 0) ring(rank);
    if (size < left) {
        if (peer.draining) wake_progress_thread();
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
    finish_drain(peer);
    const bool unexpected = peer.unexpected != nullptr;
    if (unexpected) peer.unexpected->arrived = peer.arrived;
    peer.opened = peer.discarding = false;
    peer.receiver.reset();
    peer.unexpected = nullptr;
    if (unexpected) match_unexpected();
}

void Messages::discard(Peer& peer) {
    peer.discarding = peer.draining = true;
    ++pending_;
}

void Messages::finish_drain(Peer& peer) {
    if (peer.draining) --pending_;
    peer.draining = false;
}

/// Matches unexpected messages with receives, in the order of arrival.
void Messages::match_unexpected() {
    for (auto at = receives_.begin(); at != receives_.end() && !unexpected_.empty();) {
        const Call call = *at;
        const auto unexpected = std::find_if(unexpected_.begin(), unexpected_.end(),
                                             [&](const Unexpected& e) { return accepts(call, e.source, e.envelope); });
        if (unexpected == unexpected_.end() || unexpected->arrived < unexpected->envelope.bytes) {
            ++at;
            continue;
        }
        at = receives_.erase(at);
        if (deliver(call, *unexpected)) --pending_;
        unexpected_.erase(unexpected);
    }
}

bool Messages::deliver(const Call& call, Unexpected& unexpected) {
    if (!fits(call, unexpected.source, unexpected.envelope)) return false;
    if (!unexpected.bytes.empty()) std::memcpy(call->transfer.data, unexpected.bytes.data(), unexpected.bytes.size());
    call->finish(
        {unexpected.source, unexpected.envelope.tag, unexpected.envelope.bytes / size_of(unexpected.envelope.type)});
    return true;
}

void Messages::note_ended_peers() {
    for (int r = 0; r < group_.size; ++r)
        peers_[static_cast<std::size_t>(r)].ended = r != group_.rank && exchange_->has_ended(r);
}

/// Fails calls past their deadline, and calls with a peer that had ended before its ring was last drained: a peer that
/// ends later may still have written the message.
void Messages::expire() {
    const Time now = Clock::now();
    const auto verdict = [&](const Pending& call) -> std::unique_ptr<Error> {
        const int peer = call.transfer.peer;
        const auto gone = [&](int r) { return peers_[static_cast<std::size_t>(r)].ended; };
        bool all_gone = group_.size > 1;
        for (int r = 0; r < group_.size; ++r) all_gone = all_gone && (r == group_.rank || gone(r));
        if (peer == kAnySource ? all_gone : gone(peer)) {
            const int lost = peer == kAnySource ? (group_.rank == 0 ? 1 : 0) : peer;
            return std::make_unique<Error>(exchange_->ended_error(lost, where(call)));
        }
        if (now < call.transfer.deadline) return nullptr;
        const std::vector<int> ranks = peer == kAnySource ? std::vector<int>{} : std::vector<int>{peer};
        return std::make_unique<Error>(failure(
            ErrorCode::timeout, where(call), ranks,
            fmt::format("rank {} waited {} for {}{}", group_.named(group_.rank), describe(now - call.transfer.began),
                        ranks.empty() ? "any rank" : group_.names.list(ranks),
                        call.transfer.sends ? " to receive" : " to send")));
    };
    for (int r = 0; r < group_.size; ++r) {
        Peer& peer = peers_[static_cast<std::size_t>(r)];
        if (peer.receiver)
            if (const auto error = verdict(*peer.receiver)) {
                fail(peer.receiver, *error);
                peer.receiver.reset();
                discard(peer);
                wake_progress_thread();
            }
        if (peer.ended) finish_drain(peer);
        for (auto at = peer.sends.begin(); at != peer.sends.end();) {
            const auto error = verdict(**at);
            if (!error) {
                ++at;
                continue;
            }
            fail(*at, *error);
            // A partly written message cannot be withdrawn from the ring, and no other can follow it.
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
            if (call ? call->done() : pending_ == 0 || closing_) return;
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
            work_to_do_.wait(lock, [&] { return closing_ || pending_ > 0; });
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
    const auto end = [&](const Call& call) {
        fail(call, why.code() == ErrorCode::aborted ? why : interrupted(why, where(*call)));
    };
    for (const Call& call : receives_) end(call);
    receives_.clear();
    for (Peer& peer : peers_) {
        if (peer.receiver) {
            end(peer.receiver);
            peer.receiver.reset();
            peer.discarding = true;
        }
        finish_drain(peer);
        for (const Call& call : peer.sends) end(call);
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
