#include "worker_lib/src/mesh/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include <dlaunch/options.hpp>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker::mesh {
namespace {

/// Deadline of waits that end with a message, the loss of the peer or the end of the group.
constexpr Time kForEver = Time::max();

}  // namespace

struct Messages::Pending final : WorkState {
    Pending(const Transfer& what, std::shared_ptr<Messages> messages) : transfer(what), owner(std::move(messages)) {}
    bool wait_until(Time deadline) override { return WorkState::done() || owner->wait(*this, deadline); }
    bool done() override { return wait_until(Time{}); }
    const Transfer transfer;
    const std::shared_ptr<Messages> owner;
    std::size_t sent = 0;    // bytes of a send, with its envelope, that the caller has written itself
    bool in_flight = false;  // a send that has begun
    [[nodiscard]] std::size_t bytes() const { return transfer.count * size_of(transfer.type); }
    [[nodiscard]] std::span<std::byte> data() const { return {static_cast<std::byte*>(transfer.data), bytes()}; }
};

Messages::Messages(Mesh& mesh) : mesh_(mesh), peers_(static_cast<std::size_t>(mesh.size())) {}
Messages::~Messages() { close({ErrorCode::aborted, "the group was destroyed"}); }

void Messages::start(int rank, bool reads) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    std::thread& thread = reads ? peer.reader : peer.writer;
    if (thread.joinable() || rank == mesh_.rank()) return;
    if (reads && peer.is_read) {
        peer.needs_reader = true;
        return;
    }
    std::unique_ptr<Lane>& lane = reads ? peer.in : peer.out;
    if (!lane) lane = mesh_.lane(rank, !reads);
    const base::SignalsBlocked for_the_new_thread;
    thread = std::thread([this, rank, reads] { reads ? read(rank) : write(rank); });
}

/// Whether the caller that waits for this receive can read the message itself.
bool Messages::caller_reads(const Transfer& transfer) {
    if (transfer.background || transfer.peer == mesh_.rank()) return false;
    Peer& peer = peers_[static_cast<std::size_t>(transfer.peer)];
    if (!peer.in) peer.in = mesh_.lane(transfer.peer, false);
    return peer.in->resumes() && !peer.reader.joinable() && !peer.is_read;
}

/// Writes what the connection takes at once, unless earlier messages wait. True: the whole message.
bool Messages::send_now(Peer& peer, const Call& call) {
    if (!peer.out || !peer.sends.empty()) return false;
    const Envelope envelope{call->bytes(), call->transfer.tag, call->transfer.type};
    call->sent = peer.out->send_now(std::as_bytes(std::span(&envelope, 1)), call->data());
    call->in_flight = call->sent > 0;
    if (call->sent < sizeof envelope + call->bytes()) return false;
    call->finish();
    return true;
}

std::shared_ptr<WorkState> Messages::post(const Transfer& transfer) {
    const std::lock_guard lock(mutex_);
    auto call = std::make_shared<Pending>(transfer, shared_from_this());
    const auto fail = [&](const Error& error) {
        call->finish(std::make_exception_ptr(error));
        return call;
    };
    if (closed_) return fail(*closed_);
    if (transfer.sends && transfer.peer == mesh_.rank()) {
        const auto* begin = static_cast<const std::byte*>(transfer.data);
        unexpected_.push_back({transfer.peer,
                               {call->bytes(), transfer.tag, transfer.type},
                               std::vector<std::byte>(begin, begin + call->bytes())});
        call->finish();
        match_unexpected();
    } else if (transfer.sends) {
        Peer& peer = peers_[static_cast<std::size_t>(transfer.peer)];
        if (peer.lost) return fail(lost(*peer.lost, true));
        if (send_now(peer, call)) return call;
        peer.sends.push_back(call);
        start(transfer.peer, false);
    } else {
        receives_.push_back(call);
        match_unexpected();
        for (int r = 0; r < mesh_.size() && !call->WorkState::done(); ++r)
            if (transfer.peer == kAnySource || (transfer.peer == r && !caller_reads(transfer))) start(r, true);
        const Error* const no_sender = why_no_sender(transfer.peer);
        if (no_sender && !call->WorkState::done()) {
            receives_.remove(call);
            return fail(lost(*no_sender, false));
        }
    }
    changed_.notify_all();
    return call;
}

/// Why no message can come from `rank` (kAnySource: from any rank); nullptr: messages can still come.
const Error* Messages::why_no_sender(int rank) const {
    if (rank != kAnySource) return peers_[static_cast<std::size_t>(rank)].lost.get();
    const Error* why = nullptr;
    for (int r = mesh_.size() - 1; r >= 0; --r) {
        if (r == mesh_.rank()) continue;
        why = peers_[static_cast<std::size_t>(r)].lost.get();
        if (!why) return nullptr;
    }
    return why;
}

Error Messages::lost(const Error& why, bool sends) const {
    return failure(why.code(), where(sends), why.ranks(), why.what());
}

bool Messages::accepts(const Call& call, int source, const Envelope& envelope) const {
    const Transfer& t = call->transfer;
    return (t.peer == source || t.peer == kAnySource) && (t.tag == envelope.tag || t.tag == kAnyTag);
}

/// True: type and count permit to receive the message into the buffer. False: the receive has been failed.
bool Messages::fits(const Call& call, int source, const Envelope& envelope) const {
    const Transfer& t = call->transfer;
    const std::size_t count = envelope.bytes / size_of(envelope.type);
    if (envelope.type == t.type && (count == t.count || (t.up_to && count < t.count))) return true;
    call->finish(std::make_exception_ptr(
        failure(ErrorCode::mismatch, where(false), {source, mesh_.rank()},
                fmt::format("rank {} sent {} {} with tag {}, rank {} receives {}{} {}", mesh_.group().named(source),
                            count, name_of(envelope.type), envelope.tag, mesh_.group().named(mesh_.rank()),
                            t.up_to ? "up to " : "", t.count, name_of(t.type)))));
    return false;
}

void Messages::match_unexpected() {
    for (auto at = receives_.begin(); at != receives_.end();) {
        const Call call = *at;
        const auto unexpected = std::find_if(unexpected_.begin(), unexpected_.end(),
                                             [&](const Unexpected& e) { return accepts(call, e.source, e.envelope); });
        if (unexpected == unexpected_.end()) {
            ++at;
            continue;
        }
        at = receives_.erase(at);
        if (fits(call, unexpected->source, unexpected->envelope)) {
            if (!unexpected->bytes.empty())
                std::memcpy(call->transfer.data, unexpected->bytes.data(), unexpected->bytes.size());
            call->finish({unexpected->source, unexpected->envelope.tag,
                          unexpected->envelope.bytes / size_of(unexpected->envelope.type)});
        }
        unexpected_.erase(unexpected);
    }
}

// --- reader and writer threads ---------------------------------------------------------------------------------------

void Messages::read(int rank) {
    Time began{};
    try {
        for (;;) read_one(rank, began, kForEver);
    } catch (const std::exception& error) {
        lose(rank, error, began, true);
    }
}

/// Starts the reader threads of all receives whose callers are not waiting yet: a caller that waits for a send first
/// (sendrecv) may wait for a rank that does the same.
void Messages::start_readers() {
    const std::lock_guard lock(mutex_);
    for (const Call& receive : receives_)
        if (receive->transfer.peer != kAnySource) start(receive->transfer.peer, true);
}

/// Reads in the thread that waits for `call`, until the call is done or `until`. Messages for other calls are passed
/// on.
void Messages::read_here(Pending& call, Time until) {
    const int rank = call.transfer.peer;
    if (rank == kAnySource || rank == mesh_.rank()) return;
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    {
        const std::lock_guard lock(mutex_);
        if (closed_ || peer.lost || call.WorkState::done() || call.transfer.background) return;
        if (!caller_reads(call.transfer)) return start(rank, true);
        peer.is_read = true;
    }
    Time began{};
    try {
        while (!call.WorkState::done()) read_one(rank, began, until);
    } catch (const TimedOut& error) {
        const bool is_cut = peer.incoming.receiver && until >= peer.incoming.receiver->transfer.deadline;
        if (is_cut) lose(rank, error, began, true);
    } catch (const std::exception& error) {
        lose(rank, error, began, true);
    }
    const std::lock_guard lock(mutex_);
    peer.is_read = false;
    if (std::exchange(peer.needs_reader, false) && !closed_ && !peer.lost) start(rank, true);
    changed_.notify_all();
}

/// Reads the next message, or the rest of one, until `until`. `began`: set to the start of the receive call, if one
/// waits for this message.
void Messages::read_one(int rank, Time& began, Time until) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    Incoming& incoming = peer.incoming;
    const Envelope& envelope = incoming.envelope;
    peer.in->transfer(std::as_writable_bytes(std::span(&incoming.envelope, 1)), incoming.head, until);
    if (!incoming.has_place) find_place(rank, incoming, began);
    const Call& receiver = incoming.receiver;
    try {
        const std::span<std::byte> place = receiver ? receiver->data() : std::span(incoming.elsewhere);
        if (envelope.bytes > 0)
            peer.in->transfer(place.first(envelope.bytes), incoming.body,
                              receiver ? std::min(until, receiver->transfer.deadline) : until);
    } catch (const std::exception& error) {
        const bool goes_on =
            dynamic_cast<const TimedOut*>(&error) && (!receiver || until < receiver->transfer.deadline);
        if (receiver && !goes_on)
            receiver->finish(
                std::make_exception_ptr(mesh_.translate(error, rank, where(false), receiver->transfer.began)));
        throw;
    }
    Incoming arrived = std::exchange(incoming, {});
    if (arrived.receiver)
        return arrived.receiver->finish(
            {rank, arrived.envelope.tag, arrived.envelope.bytes / size_of(arrived.envelope.type)});
    if (arrived.is_discarded) return;
    const std::lock_guard lock(mutex_);
    unexpected_.push_back({rank, arrived.envelope, std::move(arrived.elsewhere)});
    match_unexpected();
}

/// Waits for a receive call that lets the message in, or for one of a message behind it.
void Messages::find_place(int rank, Incoming& incoming, Time& began) {
    const Envelope& envelope = incoming.envelope;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        if (closed_) return true;
        const auto wanted = std::find_if(receives_.begin(), receives_.end(),
                                         [&](const Call& call) { return accepts(call, rank, envelope); });
        if (wanted != receives_.end()) {
            incoming.receiver = *wanted;
            receives_.erase(wanted);
            return true;
        }
        return std::any_of(receives_.begin(), receives_.end(),
                           [&](const Call& c) { return c->transfer.peer == rank || c->transfer.peer == kAnySource; });
    });
    if (closed_) throw Error(*closed_);
    if (incoming.receiver && !fits(incoming.receiver, rank, envelope)) {
        incoming.receiver.reset();
        incoming.is_discarded = true;
    }
    if (incoming.receiver)
        began = incoming.receiver->transfer.began;
    else
        incoming.elsewhere = allocate_unexpected(mesh_.group(), rank, envelope.bytes);
    incoming.has_place = true;
}

void Messages::write(int rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    for (;;) {
        Call call;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return closed_ || !peer.sends.empty(); });
            if (closed_) return;
            call = peer.sends.front();
            call->in_flight = true;
        }
        try {
            Envelope envelope{call->bytes(), call->transfer.tag, call->transfer.type};
            std::size_t head = std::min(call->sent, sizeof envelope), body = call->sent - head;
            peer.out->transfer(std::as_writable_bytes(std::span(&envelope, 1)), head, call->transfer.deadline);
            if (envelope.bytes > 0) peer.out->transfer(call->data(), body, call->transfer.deadline);
        } catch (const std::exception& error) {
            return lose(rank, error, call->transfer.began, false);
        }
        {
            const std::lock_guard lock(mutex_);
            if (!peer.sends.empty()) peer.sends.pop_front();
        }
        call->finish();
    }
}

/// The connection to a peer has failed: fails its pending sends and all receives that only this peer could serve. The
/// writer alone knows whether the send in its hands has succeeded: a peer may leave as soon as it has the message.
void Messages::lose(int rank, const std::exception& thrown, Time began, bool reads) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return;
    }
    const auto* const own = dynamic_cast<const Error*>(&thrown);
    const Error why = own && own->code() == ErrorCode::backend ? *own : mesh_.blame(thrown, rank, began);
    if (why.code() == ErrorCode::timeout || why.code() == ErrorCode::backend) mesh_.give_up(lost(why, !reads));
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.lost) peer.lost = std::make_unique<Error>(why);
    std::erase_if(peer.sends, [&](const Call& call) {
        if (reads && call->in_flight) return false;
        call->finish(std::make_exception_ptr(lost(*peer.lost, true)));
        return true;
    });
    if (!reads) return;
    receives_.remove_if([&](const Call& call) {
        const Error* const no_sender = why_no_sender(call->transfer.peer);
        if (no_sender) call->finish(std::make_exception_ptr(lost(*no_sender, false)));
        return no_sender != nullptr;
    });
}

/// False: the call is pending at `deadline`. A call past its own deadline fails here, unless its transfer is in
/// progress: then the reader or writer thread fails it at the same deadline.
bool Messages::wait(Pending& call, Time deadline) {
    if (call.WorkState::done()) return true;
    call.transfer.sends ? start_readers() : read_here(call, std::min(deadline, call.transfer.deadline));
    if (call.WorkState::wait_until(std::min(deadline, call.transfer.deadline))) return true;
    if (Clock::now() < call.transfer.deadline) return false;
    {
        const std::lock_guard lock(mutex_);
        const bool sends = call.transfer.sends;
        const int peer = call.transfer.peer;
        const auto is_idle = [&](const Call& other) { return other.get() == &call && !call.in_flight; };
        const std::size_t found = sends ? std::erase_if(peers_[static_cast<std::size_t>(peer)].sends, is_idle)
                                        : std::erase_if(receives_, is_idle);
        const std::vector<int> ranks = peer == kAnySource ? std::vector<int>{} : std::vector<int>{peer};
        if (found > 0)
            call.finish(std::make_exception_ptr(
                failure(ErrorCode::timeout, where(sends), ranks,
                        fmt::format("rank {} waited {} for {} to {}", mesh_.group().named(mesh_.rank()),
                                    describe(Clock::now() - call.transfer.began),
                                    ranks.empty() ? "any rank" : mesh_.group().names.list(ranks),
                                    sends ? "receive" : "send"))));
    }
    return call.WorkState::wait_until(deadline);
}

void Messages::close(const Error& why) {
    {
        const std::lock_guard lock(mutex_);
        if (!closed_) closed_ = std::make_unique<Error>(why);
        const auto end = [&](const Call& call) {
            const bool aborted = closed_->code() == ErrorCode::aborted;
            call->finish(
                std::make_exception_ptr(aborted ? *closed_ : interrupted(*closed_, where(call->transfer.sends))));
        };
        for (const Call& call : receives_) end(call);
        receives_.clear();
        for (Peer& peer : peers_) {
            for (const Call& call : peer.sends) end(call);
            peer.sends.clear();
            if (peer.in) peer.in->abort();
            if (peer.out) peer.out->abort();
        }
        changed_.notify_all();
    }
    const std::lock_guard one_at_a_time(joining_);
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return std::ranges::none_of(peers_, &Peer::is_read); });
    }
    for (Peer& peer : peers_)
        for (std::thread* thread : {&peer.reader, &peer.writer})
            if (thread->joinable()) thread->join();
}

}  // namespace dlaunch::worker::mesh
