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

struct Messages::Pending final : MessageCall {
    Pending(const Transfer& what, std::shared_ptr<Messages> messages) : MessageCall(what), owner(std::move(messages)) {}
    bool wait_until(Time deadline) override { return WorkState::done() || owner->wait(*this, deadline); }
    bool done() override { return wait_until(Time{}); }
    const std::shared_ptr<Messages> owner;
    std::size_t sent = 0;    // bytes of a send, with its envelope, that the caller has written itself
    bool in_flight = false;  // a send that has begun
};

Messages::Messages(Mesh& mesh) : mesh_(mesh), peers_(static_cast<std::size_t>(mesh.size())), matcher_(mesh.group()) {}
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
    const Envelope envelope = call->envelope();
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
        call->fail(error);
        return call;
    };
    if (closed_) return fail(*closed_);
    if (transfer.sends && transfer.peer == mesh_.rank()) {
        Incoming own{.envelope = call->envelope(), .fate = Incoming::Fate::held};
        own.memory.assign(call->data().begin(), call->data().end());
        matcher_.arrived(transfer.peer, own);
        call->finish();
    } else if (transfer.sends) {
        Peer& peer = peers_[static_cast<std::size_t>(transfer.peer)];
        if (peer.lost) return fail(lost(*peer.lost, true));
        if (send_now(peer, call)) return call;
        peer.sends.push_back(call);
        start(transfer.peer, false);
    } else {
        matcher_.post(call);
        for (int r = 0; r < mesh_.size() && !call->WorkState::done(); ++r)
            if (transfer.peer == kAnySource || (transfer.peer == r && !caller_reads(transfer))) start(r, true);
        const Error* const no_sender = why_no_sender(transfer.peer);
        if (no_sender && !call->WorkState::done()) {
            matcher_.withdraw(*call);
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
    for (const auto& receive : matcher_.receives())
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
        const bool is_cut = peer.incoming.receive && until >= peer.incoming.receive->transfer.deadline;
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
    peer.in->transfer(std::as_writable_bytes(std::span(&incoming.envelope, 1)), incoming.head, until);
    if (incoming.fate == Incoming::Fate::undecided) find_place(rank, incoming, began);
    const MessageMatcher::Receive receive = incoming.receive;
    try {
        if (incoming.envelope.bytes > 0)
            peer.in->transfer(incoming.place(), incoming.body,
                              receive ? std::min(until, receive->transfer.deadline) : until);
    } catch (const std::exception& error) {
        const bool goes_on = dynamic_cast<const TimedOut*>(&error) && (!receive || until < receive->transfer.deadline);
        if (receive && !goes_on) receive->fail(mesh_.translate(error, rank, where(false), receive->transfer.began));
        throw;
    }
    const std::lock_guard lock(mutex_);
    matcher_.arrived(rank, incoming);
}

/// Waits until the message has a place: a receive, or memory as a receive waits for a message behind it.
void Messages::find_place(int rank, Incoming& incoming, Time& began) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        if (!closed_) matcher_.decide(rank, incoming);
        return closed_ || incoming.fate != Incoming::Fate::undecided;
    });
    if (closed_) throw Error(*closed_);
    if (incoming.receive) began = incoming.receive->transfer.began;
    // A lane cannot skip: what is discarded is read, too.
    if (incoming.fate == Incoming::Fate::discarded)
        incoming.memory = allocate_unexpected(mesh_.group(), rank, incoming.envelope.bytes);
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
            Envelope envelope = call->envelope();
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
        call->fail(lost(*peer.lost, true));
        return true;
    });
    if (!reads) return;
    matcher_.fail([&](const Transfer& receive) -> std::optional<Error> {
        const Error* const no_sender = why_no_sender(receive.peer);
        return no_sender ? std::optional(lost(*no_sender, false)) : std::nullopt;
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
        const auto is_idle = [&](const Call& other) { return other.get() == &call && !call.in_flight; };
        const bool was_idle =
            call.transfer.sends ? std::erase_if(peers_[static_cast<std::size_t>(call.transfer.peer)].sends, is_idle) > 0
                                : matcher_.withdraw(call);
        if (was_idle) call.fail(overdue(call.transfer, mesh_.group(), Clock::now()));
    }
    return call.WorkState::wait_until(deadline);
}

void Messages::close(const Error& why) {
    {
        const std::lock_guard lock(mutex_);
        if (!closed_) closed_ = std::make_unique<Error>(why);
        const auto error = [&](const Transfer& transfer) {
            return closed_->code() == ErrorCode::aborted ? *closed_ : interrupted(*closed_, where(transfer.sends));
        };
        matcher_.fail(error);
        for (Peer& peer : peers_) {
            for (const Call& call : peer.sends) call->fail(error(call->transfer));
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
