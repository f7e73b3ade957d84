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
    const Time began = Clock::now();
    bool in_flight = false;  // a send that the writer thread has started
    [[nodiscard]] std::size_t bytes() const { return transfer.count * size_of(transfer.type); }
};

Messages::Messages(Mesh& mesh) : mesh_(mesh), peers_(static_cast<std::size_t>(mesh.size())) {}
Messages::~Messages() { close({ErrorCode::aborted, "the group was destroyed"}); }

void Messages::start(int rank, bool reads) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    std::thread& thread = reads ? peer.reader : peer.writer;
    if (thread.joinable() || rank == mesh_.rank()) return;
    (reads ? peer.in : peer.out) = mesh_.lane(rank, !reads);
    const base::SignalsBlocked for_the_new_thread;
    thread = std::thread([this, rank, reads] { reads ? read(rank) : write(rank); });
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
        peer.sends.push_back(call);
        start(transfer.peer, false);
    } else {
        receives_.push_back(call);
        match_unexpected();
        for (int r = 0; r < mesh_.size() && !call->WorkState::done(); ++r)
            if (transfer.peer == r || transfer.peer == kAnySource) start(r, true);
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
        for (;;) read_one(rank, began);
    } catch (const std::exception& error) {
        lose(rank, error, began, true);
    }
}

/// `began`: set to the start of the receive call, if one waits for this message.
void Messages::read_one(int rank, Time& began) {
    Lane& lane = *peers_[static_cast<std::size_t>(rank)].in;
    Envelope envelope;
    lane.transfer(&envelope, sizeof envelope, kForEver);

    Call receiver;
    std::vector<std::byte> elsewhere;
    bool discarding = false;
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] {
            if (closed_) return true;
            const auto wanted = std::find_if(receives_.begin(), receives_.end(),
                                             [&](const Call& call) { return accepts(call, rank, envelope); });
            if (wanted != receives_.end()) {
                receiver = *wanted;
                receives_.erase(wanted);
                return true;
            }
            return std::any_of(receives_.begin(), receives_.end(), [&](const Call& c) {
                return c->transfer.peer == rank || c->transfer.peer == kAnySource;
            });
        });
        if (closed_) throw Error(*closed_);
        if (receiver && !fits(receiver, rank, envelope)) {
            receiver.reset();
            discarding = true;
        }
        if (receiver)
            began = receiver->began;
        else
            elsewhere = allocate_unexpected(mesh_.group(), rank, envelope.bytes);
    }
    try {
        if (envelope.bytes > 0)
            lane.transfer(receiver ? receiver->transfer.data : elsewhere.data(), envelope.bytes,
                          receiver ? receiver->transfer.deadline : kForEver);
    } catch (const std::exception& error) {
        if (receiver)
            receiver->finish(std::make_exception_ptr(mesh_.translate(error, rank, where(false), receiver->began)));
        throw;
    }
    if (receiver) return receiver->finish({rank, envelope.tag, envelope.bytes / size_of(envelope.type)});
    if (discarding) return;
    const std::lock_guard lock(mutex_);
    unexpected_.push_back({rank, envelope, std::move(elsewhere)});
    match_unexpected();
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
            peer.out->transfer(&envelope, sizeof envelope, call->transfer.deadline);
            if (envelope.bytes > 0) peer.out->transfer(call->transfer.data, envelope.bytes, call->transfer.deadline);
        } catch (const std::exception& error) {
            return lose(rank, error, call->began, false);
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
                                    describe(Clock::now() - call.began),
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
    for (Peer& peer : peers_)
        for (std::thread* thread : {&peer.reader, &peer.writer})
            if (thread->joinable()) thread->join();
}

}  // namespace dlaunch::worker::mesh
