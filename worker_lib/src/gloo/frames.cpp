#include "worker_lib/src/gloo/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace dlaunch::worker::gloo_backend {
namespace {

/// A rank's frames have no more than this together in each direction, and each has room for a few numbers.
constexpr std::size_t kMostBytes = std::size_t{1} << 20, kMostRoom = std::size_t{64} << 10, kLeastRoom = 256;

/// For a look at what must have come by now; and how often a rank that waits looks whether the others still do.
constexpr std::chrono::milliseconds kGlance{1}, kTurn{500};

/// No step of a call has this one.
constexpr std::uint64_t kSlot = 0;

std::size_t room_among(int ranks) {
    return std::clamp(std::bit_floor(kMostBytes / static_cast<std::size_t>(ranks)), kLeastRoom, kMostRoom);
}

}  // namespace

Frames::Frames(Mesh& mesh)
    : mesh_(mesh),
      room_(room_among(mesh.size())),
      peers_(static_cast<std::size_t>(mesh.size())),
      signatures_(peers_.size()) {
    const std::size_t bytes = kDataOffset + room_;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(3 * bytes * peers_.size());
    std::byte* next = memory_.get();
    for (int r = 0; r < mesh.size(); ++r) {
        Peer& peer = peers_[static_cast<std::size_t>(r)];
        for (std::byte** frame : {&peer.sent, &peer.received[0], &peer.received[1]}) {
            *frame = next;
            next += bytes;
        }
        if (r == mesh.rank()) continue;
        peer.sends = std::make_unique<Flow>(mesh, r, true, kSlot, peer.sent, bytes);
        for (const int turn : {0, 1})
            peer.receives[turn] = std::make_unique<Flow>(mesh, r, false, kSlot, peer.received[turn], bytes);
    }
    begin_receives(0);
}

void Frames::begin_receives(int turn) {
    for (Peer& peer : peers_)
        if (peer.sends) peer.receives[turn]->begin(0, kDataOffset + room_);
}

/// Names all whose frames are missing, not only the first.
void Frames::fail(const Call& call, int first, const Error& late, Time began) {
    std::vector<int> missing{first};
    for (int r = first + 1; r < mesh_.size(); ++r) {
        if (r == mesh_.rank()) continue;
        Call glance = call;
        glance.deadline = after(kGlance);
        try {
            peers_[static_cast<std::size_t>(r)].receives[turn_]->wait(glance);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::timeout) throw late;
            missing.push_back(r);
        }
    }
    throw failure(
        late.code(), where(call, mesh_.group()), missing,
        fmt::format("rank {} waited {} for {}", mesh_.rank(), describe(Clock::now() - began), list_ranks(missing)));
}

void Frames::wait_for(int rank, const Call& call, Time began) {
    for (Call turn = call;; look_around(call)) {
        turn.deadline = std::min(call.deadline.at(), after(kTurn));
        try {
            return peers_[static_cast<std::size_t>(rank)].receives[turn_]->wait(turn);
        } catch (const Error& error) {
            const Time now = Clock::now();
            if (error.code() != ErrorCode::timeout || now < turn.deadline.at()) throw;
            if (now >= call.deadline.at()) fail(call, rank, error, began);
        }
    }
}

/// Whose frame has come may have given up this call since. What comes next from him never will, and he has said why; if
/// he has left after a call that went well for him, so it will here.
void Frames::look_around(const Call& call) {
    const Error::Where here = where(call, mesh_.group());
    for (int r = 0; r < mesh_.size(); ++r) {
        const auto& next = peers_[static_cast<std::size_t>(r)].receives[turn_ ^ 1];
        if (!next || !next->is_broken()) continue;
        if (const auto said = mesh_.reason(r); said && said->sequence == here.sequence)
            throw failure(said->why.code(), here, said->why.ranks(), said->why.what());
    }
}

void Frames::exchange(const Call& call) {
    turn_ ^= 1;
    // Before anything is sent: who has everybody's frame may leave.
    begin_receives(turn_ ^ 1);
    const Time began = Clock::now();
    const Signature own(call);
    for (Peer& peer : peers_) {
        if (!peer.sends) continue;
        std::memcpy(peer.sent, &own, sizeof own);
        peer.sends->begin(0, kDataOffset + std::exchange(peer.attached, 0));
    }
    for (std::size_t r = 0; r < peers_.size(); ++r) {
        if (!peers_[r].sends) {
            signatures_[r] = own;
            continue;
        }
        wait_for(static_cast<int>(r), call, began);
        std::memcpy(&signatures_[r], peers_[r].received[turn_], sizeof own);
    }
    for (Peer& peer : peers_)
        if (peer.sends) peer.sends->wait(call);
    if (!all_alike(signatures_)) throw mismatch(signatures_, mesh_.group());
}

}  // namespace dlaunch::worker::gloo_backend
